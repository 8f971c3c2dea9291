"""Serve ratings: ``python -m services.rating``, configured by ``OKEY_*`` variables."""

from okey_runtime.config import ServiceSettings
from okey_runtime.server import serve
from services.rating.app import RatingApp

if __name__ == "__main__":
    serve(RatingApp(ServiceSettings.load()))

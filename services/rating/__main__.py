"""Serve ratings: ``python -m services.rating``, configured by ``OKEY_*`` variables."""

from okey_runtime.server import serve
from services.rating.app import RatingApp
from services.rating.settings import RatingSettings

if __name__ == "__main__":
    serve(RatingApp(RatingSettings.load()))

"""Settings of the rating service beside those of every service."""

from okey_runtime.config import ServiceSettings


class RatingSettings(ServiceSettings):
    """Where the rating service finds whom it calls."""

    engine_address: str | None = None
    """host:port or dns:///name:port of the engine, whose list of revoked tokens is followed; needs
    ``OKEY_SERVICE_TOKEN_DIR`` too.
    """

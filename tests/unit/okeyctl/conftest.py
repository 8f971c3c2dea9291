"""Services of these tests run in the command's own process: their logs are kept off its output."""

from collections.abc import Iterator

import pytest
import structlog


@pytest.fixture(autouse=True)
def _without_services_logs() -> Iterator[None]:
    structlog.configure(logger_factory=structlog.ReturnLoggerFactory())
    yield
    structlog.reset_defaults()

"""What services log while they are simulated."""

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import structlog
from structlog.typing import EventDict, WrappedLogger


@contextmanager
def heard_logs(hear: Callable[[EventDict], None]) -> Iterator[None]:
    """Hand every line from WARNING on to somebody, and print none."""

    def take(_: WrappedLogger, method: str, line: EventDict) -> EventDict:
        line["level"] = method
        hear(line)
        raise structlog.DropEvent

    before: dict[str, Any] = structlog.get_config()
    structlog.configure(
        processors=[take],
        wrapper_class=structlog.make_filtering_bound_logger(logging.WARNING),
        cache_logger_on_first_use=False,
    )
    try:
        yield
    finally:
        structlog.configure(**before)

"""Structured logs: one JSON object a line (or text for a person), with the ids of what is being
worked on.

Request and response bodies, tokens and secrets never reach a line: a message that is passed in
anyway is written as the name of its type. Lines go to stderr, also those of libraries that use the
standard logging module; of what gRPC says about its peers only so many (``library_noise``).
"""

import logging
import logging.config
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import Final

import orjson
import structlog
from google.protobuf.message import Message
from pydantic import SecretBytes, SecretStr
from structlog.stdlib import BoundLogger
from structlog.typing import EventDict, Processor, WrappedLogger

from okey_runtime.library_noise import LibraryNoise

_NEVER_LOGGED: Final = frozenset({"token", "authorization", "password", "secret", "seed"})
_REDACTED: Final = "<redacted>"

AUDIT_LOGGER: Final = "okey.audit"
"""The logger of what operators do."""


class LogFormat(StrEnum):
    """How a log line looks: one JSON object, or text for a person."""

    JSON = "json"
    CONSOLE = "console"


def get_logger(name: str) -> BoundLogger:
    """The logger of a module; call it with ``__name__`` and log events as
    ``log.info("table_opened", table_id=...)``.
    """
    logger: BoundLogger = structlog.stdlib.get_logger(name)
    return logger


def configure_logging(
    service: str,
    level: str = "INFO",
    form: LogFormat = LogFormat.JSON,
    audit_file: Path | None = None,
) -> None:
    """Set up the process's logs; call once, before anything logs.

    What operators do is told whatever the level, and in ``audit_file`` too.
    """
    shared: list[Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_logger_name,
        structlog.stdlib.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        _with_service(service),
        redact,
    ]
    structlog.configure(
        processors=[
            structlog.stdlib.filter_by_level,
            *shared,
            structlog.stdlib.ProcessorFormatter.wrap_for_formatter,
        ],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
        # Modules keep their loggers for good, and each set-up counts for all of them.
        cache_logger_on_first_use=False,
    )
    formatter = structlog.stdlib.ProcessorFormatter(
        processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, *_ending(form)],
        foreign_pre_chain=shared,
    )
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(formatter)
    handler.addFilter(LibraryNoise())
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level)
    # These two write SQL parameters and connection details at INFO and below.
    for chatty in ("sqlalchemy", "asyncio"):
        logging.getLogger(chatty).setLevel(logging.WARNING)
    _open_audit_log(formatter, audit_file)


@contextmanager
def log_context(**ids: str | int) -> Iterator[None]:
    """Add ids (``table_id``, ``player_id``, ``match_id``, ``trace_id``) to every line of the
    running task in the block.
    """
    with structlog.contextvars.bound_contextvars(**ids):
        yield


def redact(logger: WrappedLogger, method: str, event: EventDict) -> EventDict:
    """Take out of a line what none may hold: messages, secrets, and whatever is called a token."""
    for key, value in event.items():
        if key in _NEVER_LOGGED or isinstance(value, SecretStr | SecretBytes):
            event[key] = _REDACTED
        elif isinstance(value, Message):
            event[key] = f"<{value.DESCRIPTOR.full_name}>"
    return event


def _open_audit_log(formatter: logging.Formatter, file: Path | None) -> None:
    logger = logging.getLogger(AUDIT_LOGGER)
    logger.setLevel(logging.INFO)
    for handler in logger.handlers[:]:
        logger.removeHandler(handler)
        handler.close()
    if file is None:
        return
    # Made here, so that it is never readable by others; added to over restarts.
    os.close(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600))
    handler = logging.FileHandler(file, encoding="utf-8")
    handler.setFormatter(formatter)
    logger.addHandler(handler)


def _with_service(service: str) -> Processor:
    def add(logger: WrappedLogger, method: str, event: EventDict) -> EventDict:
        event["service"] = service
        return event

    return add


def _ending(form: LogFormat) -> list[Processor]:
    if form is LogFormat.CONSOLE:
        return [structlog.dev.ConsoleRenderer(colors=sys.stderr.isatty())]
    return [
        structlog.processors.format_exc_info,
        structlog.processors.JSONRenderer(serializer=_json),
    ]


def _json(event: EventDict, **_: object) -> str:
    return orjson.dumps(event, default=repr, option=orjson.OPT_NON_STR_KEYS).decode()

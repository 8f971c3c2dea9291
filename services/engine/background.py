"""Tasks that nobody awaits: their failures are said, never swallowed."""

import asyncio

from okey_runtime.logging import get_logger

_log = get_logger(__name__)


def say_failure(task: asyncio.Task[None]) -> None:
    """A done-callback that logs what the task failed with."""
    if not task.cancelled() and task.exception() is not None:
        _log.error("background_work_failed", work=task.get_name(), exc_info=task.exception())

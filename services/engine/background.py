"""Tasks that nobody awaits for sure: their failures are said, or left to who still waits."""

import asyncio
from typing import Any

from okey_runtime.logging import get_logger

_log = get_logger(__name__)


def say_failure(task: asyncio.Task[None]) -> None:
    """A done-callback that logs what the task failed with."""
    if not task.cancelled() and task.exception() is not None:
        _log.error("background_work_failed", work=task.get_name(), exc_info=task.exception())


def leave_failure(task: asyncio.Task[Any]) -> None:
    """A done-callback for shared work: its failure is for those who wait, and may be for nobody any
    more.
    """
    if not task.cancelled():
        task.exception()

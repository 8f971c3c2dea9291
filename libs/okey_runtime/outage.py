"""Something of others that may be away: said once when it goes and once when it is back, however
many ask for it meanwhile.
"""

from collections.abc import Iterator
from contextlib import contextmanager

from okey_runtime.logging import get_logger

_log = get_logger(__name__)


class Outage:
    """Logs ``<name>_away`` as a warning and ``<name>_back`` with how often it was asked in vain;
    each failure between is told at DEBUG only.
    """

    def __init__(self, name: str, *errors: type[Exception], **ids: str) -> None:
        """``errors`` are what says that it is away; ``ids`` stand in each line."""
        self._name = name
        self._errors = errors
        self._ids = ids
        self._failures = 0
        self._running: object | None = None

    @contextmanager
    def asking(self) -> Iterator[None]:
        """Around each question.

        Only an answer to what was asked during an outage ends it: an older question may have been
        answered before it began.
        """
        asked_in = self._running
        try:
            yield
        except self._errors as error:
            self._failed(error)
            raise
        if asked_in is not None and asked_in is self._running:
            _log.info(f"{self._name}_back", failures=self._failures, **self._ids)
            self._running = None

    def _failed(self, error: Exception) -> None:
        if self._running is None:
            self._running, self._failures = object(), 0
            _log.warning(f"{self._name}_away", error=str(error), **self._ids)
        self._failures += 1
        _log.debug(f"{self._name}_failed", error=str(error), **self._ids)

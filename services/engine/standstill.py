"""Times in which nothing can be decided: the database is away, or the process itself did not run.

All tables stand still together, from the moment since which nothing can have been right: no clock
rings, moves are refused, what the engine asks of itself waits. Afterwards each clock goes on with
what was left at that moment.
"""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

from okey_runtime.backoff import waits_s
from okey_runtime.clock import Clock
from okey_runtime.database import DatabaseAway
from okey_runtime.logging import get_logger
from services.engine.appending import Append, Verdict
from services.engine.errors import StandsStill
from services.engine.group_commit import Store
from services.engine.metrics import STANDING_STILL_SECONDS, STANDSTILL_SECONDS, STANDSTILLS

BEAT_MS: Final = 250
_RELAPSE_MS: Final = 5_000

_log = get_logger(__name__)


class Standstill:
    """Whether the engine stands still, and since when; ``run`` must be running to notice.

    It begins when the database fails, when it gives no answer for ``stall_ms``, and when the
    process turns out not to have run for that long. ``on_begin`` is called at once then.
    """

    def __init__(self, clock: Clock, stall_ms: int) -> None:
        self.since_ms: int | None = None
        self.lag_ms = 0
        """How late the loop woke the last two beats, the less late of the two: one is a hiccup."""
        self.on_begin: Callable[[], None] = lambda: None
        self.began: Final = asyncio.Event()
        self._clock = clock
        self._stall_ms = stall_ms
        self._moving = asyncio.Event()
        self._moving.set()
        self._ran_ms: int | None = None
        self._ended_ms: int | None = None
        self.is_relapse = False
        """Whether it began again right after it had ended: it was not over."""
        self.waits = waits_s()
        """The pauses between tries to end it; over relapses they grow on."""
        self._asked: dict[object, int] = {}
        STANDING_STILL_SECONDS.set_function(self.standing_s)

    def standing_s(self) -> float:
        """For how long it has stood still; 0 where it does not. Any thread may ask."""
        since_ms = self.since_ms
        return 0.0 if since_ms is None else (self._clock.now_ms() - since_ms) / 1000

    @property
    def is_on(self) -> bool:
        """Whether nothing can be decided now."""
        return self.since_ms is not None

    def goes(self) -> bool:
        """Whether something can be decided now; to be asked by what judges how long others took."""
        self.notice()
        return not self.is_on

    async def over(self) -> None:
        """Return when something can be decided."""
        await self._moving.wait()

    def refuse(self) -> None:
        """Raise ``StandsStill`` where nothing can be decided now."""
        self.notice()
        if self.is_on:
            raise StandsStill(
                "the engine stands still, and every clock with it: its database does not answer; "
                "send the same request again"
            )

    def notice(self) -> None:
        """Note that the process runs; to be called before anything is done because of the time."""
        ran_ms = self._ran_ms
        if ran_ms is None:
            return  # nobody has begun to look
        self._ran_ms = self._clock.now_ms()
        if self._ran_ms - ran_ms > self._stall_ms:
            self.begin(ran_ms, "PROCESS_STOPPED")

    @contextmanager
    def asking(self) -> Iterator[None]:
        """Around each question to the database."""
        question, since_ms = object(), self._clock.now_ms()
        self._asked[question] = since_ms
        try:
            yield
        except DatabaseAway:
            self.begin(since_ms, "DATABASE_AWAY")
            raise
        finally:
            del self._asked[question]

    def begin(self, since_ms: int, reason: str) -> None:
        """Stand still, since a moment in the past."""
        if self.since_ms is not None:
            self.since_ms = min(self.since_ms, since_ms)
            return
        self.since_ms = since_ms
        now_ms, ended_ms = self._clock.monotonic_ms(), self._ended_ms
        self.is_relapse = ended_ms is not None and now_ms - ended_ms < _RELAPSE_MS
        if not self.is_relapse:
            self.waits = waits_s()
        self._moving.clear()
        STANDSTILLS.labels(reason).inc()
        for_ms = self._clock.now_ms() - since_ms
        _log.warning("stands_still", reason=reason, since_ms=since_ms, for_ms=for_ms)
        self.on_begin()
        self.began.set()

    def can_end(self) -> bool:
        """Whether no question to the database is overdue."""
        return not self._is_overdue()

    def end(self) -> None:
        """Go on."""
        assert self.since_ms is not None, "it stands still"
        self.notice()
        self._ended_ms = self._clock.monotonic_ms()
        since_ms, self.since_ms = self.since_ms, None
        stood_ms = self._clock.now_ms() - since_ms
        STANDSTILL_SECONDS.inc(stood_ms / 1000)
        _log.info("goes_on", since_ms=since_ms, stood_ms=stood_ms)
        self.began.clear()
        self._moving.set()

    async def run(self) -> None:
        """Notice, for as long as the engine lives."""
        self._ran_ms = self._clock.now_ms()
        late_ms = 0
        while True:
            due_ms = self._clock.monotonic_ms() + BEAT_MS
            await self._clock.sleep_until_ms(due_ms)
            late_before_ms, late_ms = late_ms, self._clock.monotonic_ms() - due_ms
            self.lag_ms = min(late_before_ms, late_ms)
            self.notice()
            if late_ms > self._stall_ms:
                # Something ran, but nobody got its turn in time.
                self.begin(self._clock.now_ms() - late_ms, "PROCESS_STOPPED")
            if self._is_overdue():
                self.begin(min(self._asked.values()), "DATABASE_SILENT")

    def _is_overdue(self) -> bool:
        asked_ms = min(self._asked.values(), default=None)
        return asked_ms is not None and self._clock.now_ms() - asked_ms > self._stall_ms


class WatchedStore:
    """A store whose failures and silence make the engine stand still; then nothing is tried."""

    def __init__(self, store: Store, standstill: Standstill) -> None:
        self._store = store
        self._standstill = standstill

    async def append(self, batch: list[Append]) -> list[Verdict]:
        """Write the rows, or raise ``StandsStill`` without having tried."""
        self._standstill.refuse()
        with self._standstill.asking():
            return await self._store.append(batch)

"""How much one caller, and all of them together, may ask of a service.

A player has a token bucket for each RPC and a number of streams. Messages of a stream are paced by
who pays for it, and where nobody does (open reflection) by host. Players and integrators have a
budget besides, from which every call takes what it costs. Services and operators are not counted:
they are ours. All calls together are bounded too, so that a crowd is refused before the process
drowns in it.
"""

from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import ClassVar, Final

from prometheus_client import Counter

from okey.errors import Exhausted
from okey_runtime.clock import Clock
from okey_runtime.identity import Identity
from okey_runtime.line_quota import LINES
from okey_runtime.logging import get_logger

_MOST_BUCKETS: Final = 100_000
_MOST_ANONYMOUS_STREAMS: Final = 256
_ANONYMOUS_STREAMS_OF_A_HOST: Final = 32
_MOST_INTEGRATOR_STREAMS: Final = 1_000
_BUSY_RETRY_MS: Final = 1_000
_STREAM_RETRY_MS: Final = 5_000

_log = get_logger(__name__)

REFUSED: Final = Counter(
    "okey_limited_calls_total", "Calls refused by a limit of the service.", ("reason",)
)


class Limited(Exhausted):
    """A limit was reached; ``retry_after_ms`` says when another try makes sense."""

    _refused: ClassVar[Counter]

    def __init_subclass__(cls) -> None:
        # There from the start, so that the first refusal is an increase.
        cls._refused = REFUSED.labels(cls.reason)

    def __init__(self, message: str, retry_after_ms: int) -> None:
        super().__init__(message)
        self._retry_after_ms = retry_after_ms
        self._refused.inc()

    @property
    def retry_after_ms(self) -> int:
        """What goes into ``RetryInfo``."""
        return self._retry_after_ms


class RateLimited(Limited):
    """A player calls one RPC more often than it may."""

    reason = "RATE_LIMITED"


class BudgetSpent(Limited):
    """A player's or integrator's calls together cost more than its budget."""

    reason = "BUDGET_SPENT"


class TooManyStreams(Limited):
    """A caller has as many streams open as it may."""

    reason = "TOO_MANY_STREAMS"


class ServiceBusy(Limited):
    """More calls are under way than the service takes."""

    reason = "SERVICE_BUSY"


@dataclass(frozen=True, slots=True)
class CallLimits:
    """``per_s`` and ``burst`` are a player's for each RPC, ``streams`` a player's at this process,
    ``calls`` everybody's together; ``call_ms`` is the longest that a call may take.

    ``cost_per_s`` and ``cost_burst`` are the budget of a player or an integrator.
    """

    per_s: int
    burst: int
    streams: int
    calls: int
    call_ms: int
    cost_per_s: int = 250
    cost_burst: int = 2_500


class Buckets:
    """Token buckets by caller and method; one that is forgotten was the longest unused."""

    def __init__(self, per_s: int, burst: int, clock: Clock, most: int = _MOST_BUCKETS) -> None:
        self._per_s = per_s
        self._most = most
        self._full = burst * 1_000.0
        self._clock = clock
        self._levels: OrderedDict[tuple[str, str], tuple[float, int]] = OrderedDict()

    def take(self, subject: str, method: str, cost: int = 1) -> int:
        """Take ``cost``, or a full bucket where it costs more; 0 if there was as much, otherwise
        after how many milliseconds there will be.
        """
        now_ms = self._clock.monotonic_ms()
        key = (subject, method)
        level = self._level(key, now_ms)
        wanted = min(cost * 1_000.0, self._full)
        self._levels.pop(key, None)
        self._levels[key] = (level if level < wanted else level - wanted, now_ms)
        if len(self._levels) > self._most:
            self._levels.popitem(last=False)
        return self._wait_ms(level, wanted)

    def wait_ms(self, subject: str, method: str) -> int:
        """After how many milliseconds there will be one to take; 0 if there is one."""
        return self._wait_ms(self._level((subject, method), self._clock.monotonic_ms()))

    def _level(self, key: tuple[str, str], now_ms: int) -> float:
        """What is there, in thousandths, so that a millisecond adds ``per_s`` of them."""
        level, then_ms = self._levels.get(key, (self._full, now_ms))
        return min(self._full, level + (now_ms - then_ms) * self._per_s)

    def _wait_ms(self, level: float, wanted: float = 1_000.0) -> int:
        missing = wanted - level
        return int(missing // self._per_s) + 1 if missing > 0 else 0


class CallsUnderWay:
    """Counts calls; ``with`` it around each. Raises ``ServiceBusy``."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._count = 0

    def __enter__(self) -> None:
        if self._count >= self._most:
            raise ServiceBusy(
                f"{self._count} calls are under way, as many as this service takes: try again in "
                f"{_BUSY_RETRY_MS} ms",
                _BUSY_RETRY_MS,
            )
        self._count += 1

    def __exit__(self, *_: object) -> None:
        self._count -= 1


class Gate:
    """What every call goes through once it is known who calls; one a process."""

    def __init__(self, limits: CallLimits, clock: Clock) -> None:
        self.limits: Final = limits
        self._clock = clock
        self._buckets = Buckets(limits.per_s, limits.burst, clock)
        self._budgets = Buckets(limits.cost_per_s, limits.cost_burst, clock)
        self.call: Final = CallsUnderWay(limits.calls)
        """Around a call that is no stream."""
        self._streams: dict[str, int] = {}

    def refuse_if_too_often(self, caller: Identity | None, method: str, cost: int = 1) -> None:
        """Count the call. Raises ``RateLimited`` or ``BudgetSpent``."""
        payer = "" if caller is None else caller.payer
        if not payer:
            return
        is_player = caller is not None and bool(caller.player)
        if is_player and (wait_ms := self._buckets.take(payer, method)):
            self._tell(payer, method)
            raise RateLimited(
                f"{payer} calls {method} more than {self.limits.per_s} times a second: "
                f"wait {wait_ms} ms",
                wait_ms,
            )
        if wait_ms := self._budgets.take(payer, "", cost):
            self._tell(payer, method)
            raise BudgetSpent(
                f"{method} costs {cost}, and {payer} has spent its budget of "
                f"{self.limits.cost_per_s} a second: wait {wait_ms} ms",
                wait_ms,
            )

    def _tell(self, payer: str, method: str) -> None:
        """Log who is limited."""
        LINES.warn(_log, "player_limited", player_id=payer, call=method)

    @contextmanager
    def stream(self, caller: Identity | None, host: str = "") -> Iterator[None]:
        """Around a stream; nobody's (health, reflection) are counted by host, and together.

        Raises ``TooManyStreams``.
        """
        if caller is None:
            with (
                self._counted("callers without a token", _MOST_ANONYMOUS_STREAMS),
                self._counted(f"callers without a token at {host}", _ANONYMOUS_STREAMS_OF_A_HOST),
            ):
                yield
        elif caller.payer:
            most = self.limits.streams if caller.player else _MOST_INTEGRATOR_STREAMS
            with self._counted(caller.payer, most):
                yield
        else:
            yield

    @contextmanager
    def _counted(self, whose: str, most: int) -> Iterator[None]:
        count = self._streams.get(whose, 0)
        if count >= most:
            self._tell(whose, "streams")
            raise TooManyStreams(
                f"{whose} may have {most} streams open here: end one", _STREAM_RETRY_MS
            )
        self._streams[whose] = count + 1
        try:
            yield
        finally:
            left = self._streams[whose] - 1
            if left:
                self._streams[whose] = left
            else:
                del self._streams[whose]

    async def pace(self, caller: Identity | None, method: str, host: str = "") -> None:
        """Count a message of a stream, of who pays for it or of nobody at a host; return once it
        may be sent. Until then no further one is read, so its sender has to wait.
        """
        whose = f"nobody at {host}" if caller is None else caller.payer
        while whose and (wait_ms := self._buckets.take(whose, f"{method}/message")):
            await self._clock.sleep_until_ms(self._clock.monotonic_ms() + wait_ms)

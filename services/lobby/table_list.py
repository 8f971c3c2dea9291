"""The list of open tables: a copy of the engine's in Redis, renewed by whichever replica comes
first.

Keys, in one cluster slot: ``okey:{tables}:list`` is the copy, as a ``ListTablesResponse`` without
a page token; ``okey:{tables}:renewal`` stands while the newest copy is fresh enough.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from google.protobuf.message import DecodeError
from redis.asyncio import Redis
from redis.exceptions import RedisError

from okey.api.common.v1 import common_pb2
from okey.api.engine.v1 import engine_pb2, table_pb2
from okey.api.lobby.v1 import lobby_pb2
from okey.errors import Unavailable
from okey_runtime.background import repeat
from okey_runtime.clock import Clock
from services.lobby.engine_tables import EngineTables

RENEWAL_MS: Final = 500
"""How often the copy is renewed, by all replicas together."""
KEEP_MS: Final = 30_000
"""How old a copy may get while the engine cannot be asked; afterwards there is no list."""

_LIST: Final = "okey:{tables}:list"
_RENEWAL: Final = "okey:{tables}:renewal"
_REMEMBERED_MS: Final = 200

_OPEN_PHASES: Final = (table_pb2.PHASE_WAITING, table_pb2.PHASE_NACHSPIEL)
_PLAYED_PHASES: Final = (table_pb2.PHASE_PLAYING, table_pb2.PHASE_PAUSE)


class TableListUnavailable(Unavailable):
    """There is no list to show; tables can still be joined by their id."""

    reason = "TABLE_LIST_UNAVAILABLE"


class TableList:
    """Reads and renews the copy; a replica remembers what it has read for a fifth of a second."""

    def __init__(self, redis: Redis, engine: EngineTables, clock: Clock) -> None:
        self._redis = redis
        self._engine = engine
        self._clock = clock
        self._remembered: lobby_pb2.ListTablesResponse | None = None
        self._remembered_until_ms = 0

    async def run(self) -> None:
        """Renew for as long as the service lives."""
        await repeat("table-list", self.renew_if_due, RENEWAL_MS, self._clock)

    async def renew_if_due(self) -> None:
        """Copy the engine's list, unless a replica has done so within the last ``RENEWAL_MS``.

        Raises:
            TableListUnavailable: Redis is away.
            RpcFailure: the engine could not be asked; the old copy stays.
        """
        with _or_unavailable():
            is_ours = await self._redis.set(_RENEWAL, b"", nx=True, px=RENEWAL_MS * 9 // 10)
        if not is_ours:
            return
        as_of_ms = self._clock.now_ms()
        tables = [
            listed(table) async for table in self._engine.list_tables() if not _is_over(table)
        ]
        copy = lobby_pb2.ListTablesResponse(tables=tables, as_of_ms=as_of_ms)
        with _or_unavailable():
            await self._redis.set(_LIST, copy.SerializeToString(), px=KEEP_MS)

    async def newest(self) -> lobby_pb2.ListTablesResponse:
        """Every open table by table id, and when the copy was made.

        Raises:
            TableListUnavailable: Redis is away, or holds no copy.
        """
        now_ms = self._clock.monotonic_ms()
        if self._remembered is not None and now_ms < self._remembered_until_ms:
            return self._remembered
        with _or_unavailable():
            stored = await self._redis.get(_LIST)
        if not isinstance(stored, bytes):
            raise TableListUnavailable("the list of tables is being made: ask again in a moment")
        try:
            copy = lobby_pb2.ListTablesResponse.FromString(stored)
        except DecodeError as error:
            raise TableListUnavailable(f"{_LIST} holds no list: it is renewed shortly") from error
        self._remembered, self._remembered_until_ms = copy, now_ms + _REMEMBERED_MS
        return copy


def listed(table: engine_pb2.TableSummary) -> lobby_pb2.ListedTable:
    """A table as players see it in the list: no player ids, no house level but a solo table's."""
    taken = [
        lobby_pb2.ListedSeat(
            seat=seat.seat,
            display_name=seat.display_name,
            is_house=seat.control == table_pb2.CONTROL_HOUSE,
        )
        for seat in table.seats
        if seat.status != table_pb2.SEAT_STATUS_FREE
    ]
    is_solo = table.mode == common_pb2.MODE_SOLO
    return lobby_pb2.ListedTable(
        table_id=table.table_id,
        terms=lobby_pb2.TableTerms(
            variant=table.variant,
            mode=table.mode,
            seat_count=table.seat_count,
            stake=table.stake,
            turn_timeout_ms=table.turn_timeout_ms,
            start_points=table.start_points,
        ),
        bot_level=table.bot_level if is_solo else common_pb2.BOT_LEVEL_UNSPECIFIED,
        taken_seats=taken,
        is_joinable=table.phase in _OPEN_PHASES and len(taken) < table.seat_count and not is_solo,
        is_playing=table.phase in _PLAYED_PHASES,
        kasa=table.kasa,
    )


def _is_over(table: engine_pb2.TableSummary) -> bool:
    return table.phase == table_pb2.PHASE_CLOSED or table.is_quarantined


@contextmanager
def _or_unavailable() -> Iterator[None]:
    try:
        yield
    except RedisError as error:
        raise TableListUnavailable(
            "the list of tables is not available right now: ask again in a moment"
        ) from error

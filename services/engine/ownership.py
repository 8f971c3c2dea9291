"""Which tables are this engine's, as far as it knows, and whom to ask about the others."""

import asyncio
from collections.abc import Collection, Iterable
from contextlib import suppress
from typing import Final

from okey.table.events import Event
from okey_runtime.clock import Clock
from services.engine.errors import EventNotReadable, NotOwner, StandsStill
from services.engine.record import EVERY_KIND, EventKinds
from services.engine.seals import Seals
from services.engine.shards import Board, Member, shard_of

MOVING_WAIT_S: Final = 2.0
"""For how long a call waits for a shard that is being handed over; it takes milliseconds."""

_NOBODY: Final = Board(now_ms=0, lease_ms=1, members={}, places=())


class Ownership:
    """The shards that this engine serves, and the newest board that it has seen."""

    def __init__(
        self,
        engine: str,
        clock: Clock,
        lease_ms: int,
        kinds: EventKinds | None = None,
        seals: Seals | None = None,
    ) -> None:
        self.engine: Final = engine
        self.seals: Final = seals or Seals()
        self.board = _NOBODY
        self.held: set[int] = set()
        """The shards whose tables are served here."""
        self._kinds = kinds or EventKinds()
        self._unreadable: frozenset[int] = frozenset()
        self._moving: dict[int, asyncio.Event] = {}
        self._clock = clock
        self._lease_ms = lease_ms
        self._heard_ms: int | None = None
        self._is_heard = asyncio.Event()

    def follow(self, board: Board) -> None:
        """This is the newest board."""
        self.board = board
        self.seals.follow(board.living())
        readable = board.readable()
        self._unreadable = frozenset() if readable is None else EVERY_KIND - readable

    # The lease ------------------------------------------------------------------------------------

    def heard(self, asked_ms: int) -> None:
        """The lease was renewed by a question that began at this monotonic moment."""
        self._heard_ms = asked_ms
        self._is_heard.set()
        self._is_heard.clear()

    async def renewed(self) -> None:
        """Return once the lease is renewed."""
        await self._is_heard.wait()

    def forfeit(self) -> None:
        """The engine is no member."""
        self._heard_ms = None

    @property
    def lapses_ms(self) -> int:
        """The monotonic moment at which the lease ends; it is earlier than the database's, which
        counts from its answer.
        """
        return (
            self._clock.monotonic_ms()
            if self._heard_ms is None
            else self._heard_ms + self._lease_ms
        )

    @property
    def has_lapsed(self) -> bool:
        """Whether others may have our tables by now, so that what is in memory may be old."""
        return self._heard_ms is None or self._clock.monotonic_ms() >= self.lapses_ms

    def lease_age_s(self) -> float:
        """How long ago the lease was renewed; any thread may ask."""
        heard_ms = self._heard_ms
        return 0.0 if heard_ms is None else (self._clock.monotonic_ms() - heard_ms) / 1000

    # Tables ---------------------------------------------------------------------------------------

    def has(self, table_id: str) -> bool:
        """Whether the table is served here."""
        return shard_of(table_id) in self.held

    def refuse(self, table_id: str) -> None:
        """Raise ``NotOwner`` for a table of another engine, and ``StandsStill`` where the lease has
        ended and nobody knows.
        """
        if self.has_lapsed:
            raise StandsStill(
                "the engine's database does not answer, and another engine may have its tables by "
                "now; send the same request again, to any engine"
            )
        if not self.has(table_id):
            raise self.not_owner(table_id)

    def owner_of(self, table_id: str) -> Member | None:
        """Who has the table by the newest board; None for nobody."""
        return self.board.owner_of(shard_of(table_id)) if self.board.places else None

    def not_owner(self, table_id: str) -> NotOwner:
        """What a caller is told who must ask elsewhere."""
        owner = self.owner_of(table_id)
        if owner is None or owner.engine == self.engine:
            return NotOwner(table_id, "", "")
        return NotOwner(table_id, owner.engine, owner.address)

    def address_of(self, shard: int) -> str:
        """Where the shard is, if it is elsewhere; empty for nobody."""
        owner = self.board.owner_of(shard) if self.board.places else None
        return owner.address if owner is not None and owner.engine != self.engine else ""

    def is_readable(self, kind: type[Event]) -> bool:
        """Whether every living member can read events of this kind."""
        return not self._unreadable & self._kinds.numbers([kind])

    def refuse_unreadable(self, events: Iterable[Event]) -> None:
        """Raise ``EventNotReadable`` where a member that lives could not read one of them."""
        if self._unreadable and self._unreadable & self._kinds.written(events):
            raise EventNotReadable(
                "a new version is being rolled out, and an engine of the old one could not read "
                "what this would write; send the same request again later"
            )

    # Handing over ---------------------------------------------------------------------------------

    def begin_move(self, shards: Collection[int]) -> None:
        """Serve these shards no more; whoever asks waits until ``end_move``."""
        self.held.difference_update(shards)
        moved = asyncio.Event()
        self._moving |= dict.fromkeys(shards, moved)

    def end_move(self, shards: Collection[int]) -> None:
        """It is known who has these shards now."""
        for shard in shards:
            moved = self._moving.pop(shard, None)
            if moved is not None:
                moved.set()

    async def settled(self, table_id: str) -> None:
        """Return once the table's shard is not being handed over, or after a moment."""
        moving = self._moving.get(shard_of(table_id)) if self._moving else None
        if moving is not None:
            with suppress(TimeoutError):
                async with asyncio.timeout(MOVING_WAIT_S):
                    await moving.wait()

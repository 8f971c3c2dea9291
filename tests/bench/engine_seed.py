"""Tables in mid-round, written into an engine's database as if it had played them until now.

A table's opening and deal are one row of its journal, then each action has its own. An engine that
starts on the database takes the tables over like any other. What the sinks were told is noted too,
so that nothing is told again.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from itertools import zip_longest
from typing import Final

from sqlalchemy import Connection, insert, update

from okey.rules.rule_set import RuleSet
from okey.table import commands as c
from okey.table.config import TableConfig
from okey.table.decide import step
from okey.table.events import Event
from okey.table.state import SeatStatus, TableState, Turn, running_timers
from okey_runtime.database import Database, Isolation
from services.engine.appending import Append
from services.engine.journal import Journal
from services.engine.record import Request, encode_events
from services.engine.schema import cursors, members, shards

_FOR_EVER_MS: Final = 1 << 40
PATIENT: Final = RuleSet(version="bench", max_turn_timeout_ms=_FOR_EVER_MS)
"""Rules under which a turn may last for the whole of a measurement."""

SINKS: Final = ("wallet", "rating")
_PAGE: Final = 200


@dataclass(frozen=True, slots=True)
class Seeded:
    """One table as it stands: whose turn it is, and its number; the next action is a draw."""

    table_id: str
    players: tuple[str, ...]
    to_move: int
    turn: int


@dataclass(frozen=True, slots=True)
class Plan:
    """A table to be written, when the turn that runs there began, and how many were played."""

    config: TableConfig
    began_ms: int
    turns: int = 1


def table_config(number: int, turn_timeout_ms: int = _FOR_EVER_MS) -> TableConfig:
    """The settings of the table of that number: four people, nobody hurried unless said."""
    return TableConfig(f"{number:026}", turn_timeout_ms=turn_timeout_ms, rules=PATIENT)


async def seed_tables(url: str, plans: Sequence[Plan], alive_ms: int) -> list[Seeded]:
    """Write the tables; the engine before was last alive at ``alive_ms``."""
    database = Database(url, connections=1)
    journal = Journal(database)
    seeded = []
    for start in range(0, len(plans), _PAGE):
        tables = [_Played(plan) for plan in plans[start : start + _PAGE]]
        for rows in zip_longest(*(table.rows for table in tables)):
            verdicts = await journal.append([row for row in rows if row is not None])
            assert not any(verdicts), f"some of these tables are there already: {verdicts}"
        told: list[dict[str, object]] = [
            {"table_id": table.state.config.table_id, "sink": sink, "seq": len(table.rows)}
            for table in tables
            for sink in SINKS
        ]
        await database.transact(_Telling(told), Isolation.READ_COMMITTED)
        seeded += [table.seeded() for table in tables]
    await database.transact(_Ownership(alive_ms), Isolation.READ_COMMITTED)
    await database.close()
    return seeded


@dataclass(frozen=True, slots=True)
class _Telling:
    rows: list[dict[str, object]]

    def __call__(self, connection: Connection) -> None:
        connection.execute(insert(cursors), self.rows)


@dataclass(frozen=True, slots=True)
class _Ownership:
    """All shards are an engine's that is no more; at its tables every clock went until then."""

    alive_ms: int

    def __call__(self, connection: Connection) -> None:
        connection.execute(
            insert(members),
            {
                "engine": "before",
                "address": "",
                "renewed_ms": self.alive_ms,
                "incarnation": "before",
            },
        )
        connection.execute(update(shards).values(owner="before", since_ms=None))


class _Played:
    """One table, played from its opening on; the next action is a draw."""

    def __init__(self, plan: Plan) -> None:
        self.rows: list[Append] = []
        self._config = plan.config
        self._state: TableState | None = None
        self._now_ms = plan.began_ms
        self._number = int(plan.config.table_id)
        self._write(self._deal(), None)
        self._now_ms = plan.began_ms  # the count-down was not waited for
        for turn in range(plan.turns):
            if turn:
                self._act(c.Draw(c.DrawSource.STOCK))
            drawn = self._turn.drawn
            assert drawn is not None, "the starter has fifteen tiles, others draw"
            self._act(c.Discard(drawn))

    @property
    def state(self) -> TableState:
        """The table as it stands."""
        assert self._state is not None, "the table was never opened"
        return self._state

    def seeded(self) -> Seeded:
        """What a player has to know of it."""
        turn = self._turn
        return Seeded(self._config.table_id, self._players, turn.seat, turn.number)

    @property
    def _players(self) -> tuple[str, ...]:
        return tuple(f"p{self._number}-{seat}" for seat in range(self._config.seat_count))

    @property
    def _turn(self) -> Turn:
        assert self.state.round is not None, "the table was never dealt"
        assert self.state.round.turn is not None, "nobody is to move"
        return self.state.round.turn

    def _deal(self) -> list[Event]:
        first, *others = self._players
        events = self._do(c.OpenTable(self._config, first))
        for player in others:
            events += self._do(c.TakeSeat(player))
        for seat in self.state.seats:
            assert seat.status is SeatStatus.REQUESTED, f"{seat} shall wait for its stake"
            events += self._do(c.ConfirmHold(seat.hold_id))
        self._now_ms = self.state.phase_deadline_ms
        events += self._do(c.Expire(c.Timer(c.TimerKind.COUNTDOWN, self._now_ms)))
        return events + self._do(c.ConfirmStart(self.state.match_id))

    def _act(self, action: c.Action) -> None:
        player, seq = self._players[self._turn.seat], len(self.rows) + 1
        request = Request(player, f"seeded-{seq}", sha256(str(seq).encode()).digest())
        self._write(self._do(c.PlayerMove(player, self._turn.number, action)), request)

    def _do(self, command: c.Command) -> list[Event]:
        fresh = c.seal((self._number * 100 + len(self.rows)).to_bytes(32, "big"))
        events, self._state = step(self._state, command, c.Context(self._now_ms, lambda: fresh))
        return list(events)

    def _write(self, events: list[Event], request: Request | None) -> None:
        row = Append(
            table_id=self._config.table_id,
            seq=len(self.rows) + 1,
            at_ms=self._now_ms,
            payload=encode_events(events),
            request=request,
            joined=() if self.rows else self._players,
            deadline_ms=min(timer.deadline_ms for timer in running_timers(self.state)),
        )
        self.rows.append(row)

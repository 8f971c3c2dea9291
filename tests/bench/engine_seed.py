"""Tables in mid-round, written into an engine's database as if it had played them until now.

Each table is one row of its journal; an engine that starts on the database takes them over like any
other. What the sinks were told is noted too, so that nothing is told again.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from sqlalchemy import Connection, insert

from okey.rules.rule_set import RuleSet
from okey.rules.tile import Tile
from okey.table import commands as c
from okey.table.config import TableConfig
from okey.table.decide import step
from okey.table.events import Event
from okey.table.state import SeatStatus, TableState, Turn, running_timers
from okey_runtime.database import Database, Isolation
from services.engine.appending import Append
from services.engine.journal import Journal
from services.engine.record import encode_events
from services.engine.schema import cursors

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
    """A table to be written, and when the turn that runs there has begun."""

    config: TableConfig
    began_ms: int


def table_config(number: int, turn_timeout_ms: int = _FOR_EVER_MS) -> TableConfig:
    """The settings of the table of that number: four people, nobody hurried unless said."""
    return TableConfig(f"{number:026}", turn_timeout_ms=turn_timeout_ms, rules=PATIENT)


async def seed_tables(url: str, plans: Sequence[Plan], alive_ms: int) -> list[Seeded]:
    """Write the tables; the engine before was last alive at ``alive_ms``."""
    database = Database(url, connections=1)
    journal = Journal(database)
    seeded = []
    for start in range(0, len(plans), _PAGE):
        tables = [_Dealt(plan) for plan in plans[start : start + _PAGE]]
        verdicts = await journal.append([table.row() for table in tables])
        assert not any(verdicts), f"the database holds some of these tables already: {verdicts}"
        told: list[dict[str, object]] = [
            {"table_id": table.state.config.table_id, "sink": sink, "seq": 1}
            for table in tables
            for sink in SINKS
        ]
        await database.transact(_Telling(told), Isolation.READ_COMMITTED)
        seeded += [table.seeded() for table in tables]
    await journal.renew("engine", "", alive_ms)
    await database.close()
    return seeded


@dataclass(frozen=True, slots=True)
class _Telling:
    rows: list[dict[str, object]]

    def __call__(self, connection: Connection) -> None:
        connection.execute(insert(cursors), self.rows)


class _Dealt:
    """One table, played from its opening to the second turn."""

    def __init__(self, plan: Plan) -> None:
        config = plan.config
        self.events: list[Event] = []
        self._state: TableState | None = None
        self._now_ms = plan.began_ms
        self._number = int(config.table_id)
        players = [f"p{self._number}-{seat}" for seat in range(config.seat_count)]
        self._do(c.OpenTable(config, players[0]))
        for player in players[1:]:
            self._do(c.TakeSeat(player))
        for seat in self.state.seats:
            assert seat.status is SeatStatus.REQUESTED, f"{seat} shall wait for its stake"
            self._do(c.ConfirmHold(seat.hold_id))
        self._do(c.Expire(c.Timer(c.TimerKind.COUNTDOWN, self.state.phase_deadline_ms)))
        self._do(c.ConfirmStart(self.state.match_id))
        turn = self._turn()
        self._now_ms = plan.began_ms  # the count-down was not waited for
        self._do(c.PlayerMove(players[turn.seat], turn.number, c.Discard(self._drawn())))

    @property
    def state(self) -> TableState:
        """The table as it stands."""
        assert self._state is not None, "the table was never opened"
        return self._state

    def row(self) -> Append:
        """The whole of it as one row of the journal."""
        return Append(
            table_id=self.state.config.table_id,
            seq=1,
            at_ms=self._now_ms,
            payload=encode_events(self.events),
            joined=tuple(seat.player for seat in self.state.seats),
            deadline_ms=min(timer.deadline_ms for timer in running_timers(self.state)),
        )

    def seeded(self) -> Seeded:
        """What a player has to know of it."""
        turn = self._turn()
        return Seeded(
            self.state.config.table_id,
            tuple(seat.player for seat in self.state.seats),
            turn.seat,
            turn.number,
        )

    def _do(self, command: c.Command) -> None:
        if isinstance(command, c.Expire):
            self._now_ms = command.timer.deadline_ms
        fresh = c.seal((self._number * 100 + len(self.events)).to_bytes(32, "big"))
        events, self._state = step(self._state, command, c.Context(self._now_ms, fresh))
        self.events += events

    def _turn(self) -> Turn:
        assert self.state.round is not None
        assert self.state.round.turn is not None
        return self.state.round.turn

    def _drawn(self) -> Tile:
        drawn = self._turn().drawn
        assert drawn is not None, "the starter has fifteen tiles"
        return drawn

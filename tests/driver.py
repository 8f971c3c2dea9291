"""A table driven by a test: commands in, events kept, time and seeds counted, tiles chosen."""

from collections.abc import Iterable
from dataclasses import replace
from functools import partial
from typing import TypeVar

import pytest

from okey.errors import OkeyError
from okey.rules.tile import Tile, okey_of, parse_rack
from okey.table import commands as c
from okey.table import events as e
from okey.table.config import TableConfig
from okey.table.decide import step
from okey.table.events import Event
from okey.table.evolve import evolve
from okey.table.state import (
    Hand,
    Match,
    Phase,
    Round,
    Seat,
    SeatStatus,
    TableState,
    Turn,
    running_timers,
)

START_MS = 1_800_000_000_000
STOCK = c.DrawSource.STOCK
PILE = c.DrawSource.DISCARD

GOSTERGE = Tile.R7
"""What :meth:`Driver.arrange` turns up unless told otherwise; the okey is R8."""

FAR = "R1 R4 R10 Y2 Y6 Y11 B3 B7 B12 K1 K5 K9 K13 Y8"
"""14 tiles far from any finish, without okey or gösterge."""

NORMAL = "Y1 Y2 Y3 B5 B6 B7 B8 R4 Y4 K4 K11 K12 K13 K1"
"""14 tiles that are a normal hand and no çift."""


def rack(text: str) -> tuple[Tile, ...]:
    """The tiles of ``R1 R2 R3``."""
    return parse_rack(text)


def seed(number: int) -> bytes:
    """A server seed of 32 bytes."""
    return number.to_bytes(32, "big")


EventKind = TypeVar("EventKind")


def of_kind(events: Iterable[Event], kind: type[EventKind]) -> list[EventKind]:
    """The events of one kind, in order."""
    return [event for event in events if isinstance(event, kind)]


def the(events: Iterable[Event], kind: type[EventKind]) -> EventKind:
    """The only event of its kind."""
    (found,) = of_kind(events, kind)
    return found


def kinds(events: Iterable[Event]) -> list[str]:
    """The names of the events, in order."""
    return [type(event).__name__ for event in events]


class Driver:
    """One table: applies commands, keeps all events, the clock and the seeds.

    After every command it checks that folding the new events gives the state that was decided, and
    after a refusal that nothing changed.
    """

    def __init__(self, config: TableConfig, first_seed: int = 1) -> None:
        self.config = config
        self.now_ms = START_MS
        self.seeds = first_seed
        self.events: list[Event] = []
        self._state: TableState | None = None

    # What stands

    @property
    def state(self) -> TableState:
        assert self._state is not None, "the table was never opened"
        return self._state

    @state.setter
    def state(self, state: TableState) -> None:
        self._state = state

    def is_in(self, phase: Phase) -> bool:
        """Whether the table is in that phase now; a call, so that no checker remembers it."""
        return self.state.phase is phase

    @property
    def match(self) -> Match:
        assert self.state.match is not None, "no match is running"
        return self.state.match

    @property
    def round(self) -> Round:
        assert self.state.round is not None, "no round is running"
        return self.state.round

    @property
    def turn(self) -> Turn:
        assert self.round.turn is not None, "no turn is running"
        return self.round.turn

    @property
    def mover(self) -> int:
        """The seat to move."""
        return self.turn.seat

    @property
    def points(self) -> tuple[int, ...]:
        return self.match.points

    def seat(self, index: int) -> Seat:
        return self.state.seats[index]

    def hand(self, index: int) -> Hand:
        return self.round.hands[index]

    def player(self, index: int) -> str:
        return self.seat(index).player

    def timer(self, kind: c.TimerKind, seat: int = -1) -> c.Timer:
        """The running clock of this kind; a turn's without naming the seat."""
        found = [
            timer
            for timer in running_timers(self.state)
            if timer.kind is kind and (seat in (-1, timer.seat))
        ]
        assert len(found) == 1, f"{len(found)} clocks {kind.name} of seat {seat} are running"
        return found[0]

    def has_timer(self, kind: c.TimerKind) -> bool:
        return any(timer.kind is kind for timer in running_timers(self.state))

    # Commands

    def do(self, command: c.Command) -> tuple[Event, ...]:
        """Apply a command that must be accepted; its events."""
        events, state = step(self._state, command, self.context())
        folded = self._state
        for event in events:
            folded = evolve(folded, event)
        assert folded == state, "folding the events gives another state than deciding did"
        self._state = state
        self.events.extend(events)
        return events

    def context(self) -> c.Context:
        self.seeds += 1
        return c.Context(self.now_ms, partial(c.seal, seed(self.seeds)))

    def refused(self, command: c.Command, error: type[OkeyError]) -> str:
        """Apply a command that must be refused so, and change nothing; the message."""
        before = self._state
        with pytest.raises(error) as refusal:
            step(self._state, command, self.context())
        assert self._state is before
        return str(refusal.value)

    def ignored(self, command: c.Command) -> None:
        """Apply a command that must be accepted and cause nothing."""
        before = self._state
        assert self.do(command) == ()
        assert self._state == before

    def wait(self, ms: int) -> None:
        self.now_ms += ms

    def expire(self, kind: c.TimerKind, seat: int = -1) -> tuple[Event, ...]:
        """Let the time pass until this clock is due (if it is not yet) and ring it."""
        timer = self.timer(kind, seat)
        self.now_ms = max(self.now_ms, timer.deadline_ms)
        return self.do(c.Expire(timer))

    def time_out(self) -> tuple[Event, ...]:
        """The clock of the turn runs out."""
        return self.expire(c.TimerKind.TURN)

    # Moves of the seat to move, by whoever plays it

    def move(self, action: c.Action) -> c.Command:
        """The seat to move's action as the command of its player, or of its AI."""
        turn = self.turn
        if self.seat(turn.seat).is_ai_played:
            return c.BotMove(turn.seat, turn.number, action)
        return c.PlayerMove(self.player(turn.seat), turn.number, action)

    def act(self, action: c.Action) -> tuple[Event, ...]:
        return self.do(self.move(action))

    def act_refused(self, action: c.Action, error: type[OkeyError]) -> str:
        return self.refused(self.move(action), error)

    def draw(self, source: c.DrawSource = STOCK) -> Tile:
        """Draw for the seat to move; the tile."""
        (drawn,) = self.act(c.Draw(source))
        assert isinstance(drawn, e.TileDrawn)
        assert drawn.tile is not None
        return drawn.tile

    def discard(self, tile: Tile | None = None) -> tuple[Event, ...]:
        """Discard that tile, or the one just drawn."""
        chosen = self.turn.drawn if tile is None else tile
        assert chosen is not None, "nothing is drawn"
        return self.act(c.Discard(chosen))

    def pass_turn(self, source: c.DrawSource = STOCK) -> tuple[Event, ...]:
        """Draw, unless that is done, and discard just that."""
        if self.turn.drawn is None:
            self.draw(source)
        return self.discard()

    def pass_until(self, seat: int) -> None:
        """Pass turns until it is the seat's turn."""
        while self.mover != seat:
            self.pass_turn()

    # Chosen tiles

    def arrange(
        self,
        racks: dict[int, str] | None = None,
        *,
        gosterge: Tile = GOSTERGE,
        stock: str | None = None,
    ) -> None:
        """Put chosen tiles into the running round; a seat to move that has drawn drew its last one.

        Seats not named get FAR; who holds 15 gets one tile more, K2, where 14 are given.
        """
        running, turn = self.round, self.turn
        hands = list(running.hands)
        for index in running.playing:
            tiles = rack((racks or {}).get(index, FAR))
            holds_15 = turn.seat == index and turn.drawn is not None
            if holds_15 and len(tiles) == 14:
                tiles = (*tiles, Tile.K2)
            assert len(tiles) == (15 if holds_15 else 14), f"seat {index} has {len(tiles)} tiles"
            hands[index] = replace(hands[index], rack=tiles)
        drawn = None if turn.drawn is None else hands[turn.seat].rack[-1]
        dealt = replace(
            running,
            hands=tuple(hands),
            gosterge=gosterge,
            okey=okey_of(gosterge),
            stock=running.stock if stock is None else rack(stock),
            turn=replace(turn, drawn=drawn),
        )
        self.state = replace(self.state, round=dealt)

    def set_points(self, *points: int) -> None:
        self.state = replace(self.state, match=replace(self.match, points=points))

    def win(self, seat: int, hand: str = NORMAL, laid: str = "R13") -> tuple[Event, ...]:
        """The seat to move, or the next time it moves, ``seat`` finishes with 14 and lays one."""
        self.pass_until(seat)
        if self.turn.drawn is None:
            self.draw()
        self.arrange({seat: f"{hand} {laid}"})
        return self.act(c.Finish(Tile.parse(laid)))

    def draw_round(self) -> tuple[Event, ...]:
        """Let the round end with an empty stock."""
        if self.turn.drawn is not None:
            self.pass_turn()
        self.state = replace(self.state, round=replace(self.round, stock=(Tile.K2,)))
        return self.pass_turn()

    # Through a table's life

    def pay(self, *seats: int) -> None:
        """The wallet holds the stakes asked for by these seats, or by all."""
        for index in seats or range(len(self.state.seats)):
            if self.seat(index).status is SeatStatus.REQUESTED:
                self.do(c.ConfirmHold(self.seat(index).hold_id))

    def request_start(self) -> None:
        """The count-down runs out."""
        self.expire(c.TimerKind.COUNTDOWN)

    def start(self) -> tuple[Event, ...]:
        """From the count-down to the first turn."""
        self.request_start()
        return self.do(c.ConfirmStart(self.state.match_id))

    def next_round(self) -> tuple[Event, ...]:
        return self.expire(c.TimerKind.ROUND_PAUSE)

    def settle(self) -> tuple[Event, ...]:
        return self.do(c.ConfirmSettlement(self.match.match_id))

    def play_on(self, *seats: int) -> None:
        """These seats play on and pay; then, if all have, the match starts."""
        for index in seats:
            self.do(c.PlayOn(self.player(index)))
        self.pay(*seats)

    def away(self, seat: int) -> None:
        """The seat's clock runs out twice, so that a stand-in minds it; it is its turn still."""
        for number in (1, 2):
            self.pass_until(seat)
            events = self.time_out()
            assert the(events, e.TurnTimedOut).count == number
        assert self.seat(seat).away_deadline_ms > 0

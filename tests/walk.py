"""Tables that live through everything: seeded walks, row by row, as an engine journals them."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from hashlib import sha256
from random import Random
from typing import Final

from okey.bots.choose import choose
from okey.errors import OkeyError
from okey.rules.variant import BotLevel, Mode, Variant
from okey.simulation.ledger import DictionaryLedger
from okey.table import commands as c
from okey.table import events as e
from okey.table.config import TableConfig
from okey.table.decide import step
from okey.table.legal import LegalAction
from okey.table.state import Phase, SeatStatus, TableState, running_timers
from okey.table.view import view
from services.engine.record import Request, Row

START_MS: Final = 1_800_000_000_000

KINDS: Final = {
    "canak-2": TableConfig("", seat_count=2),
    "canak-4": TableConfig("", seat_count=4, house_fill_after_ms=40_000),
    "solo": TableConfig("", mode=Mode.SOLO, seat_count=2, bot_level=BotLevel.EASY),
    "esli": TableConfig("", mode=Mode.ESLI, seat_count=4),
    "klasik-2": TableConfig("", variant=Variant.KLASIK, seat_count=2, start_points=5),
    "klasik-4": TableConfig("", variant=Variant.KLASIK, seat_count=4, start_points=3),
}
"""A table of each kind; ``table_named`` gives one its id."""

_PEOPLE: Final = tuple(f"player-{number}" for number in range(6))


_KEYLESS: Final = c.TakeOver("engine-without-the-key", START_MS)


@dataclass(frozen=True, slots=True)
class Step:
    """One row, with the table before and after it."""

    before: TableState | None
    after: TableState
    row: Row


def walk(config: TableConfig, seed: int, most_rows: int) -> Iterator[Step]:
    """A table from its opening until it closes or has enough rows; the same seed, the same rows.

    Most turns are played well, so that matches end; now and then somebody leaves, gives up, is
    late, or an engine or an operator steps in.
    """
    walker = _Walker(config, seed)
    for number in range(1, most_rows + 1):
        yield walker.next_step(number)
        if walker.is_over:
            return


class _Walker:
    def __init__(self, config: TableConfig, seed: int) -> None:
        self._config = config
        self._random = Random(f"{config.table_id}-{seed}")
        self._state: TableState | None = None
        self._now_ms = START_MS
        self._ledger = DictionaryLedger(config)
        for player in _PEOPLE:
            self._ledger.welcome(player, config.stake * self._random.choice((3, 40)))
        self._answers: list[c.Command] = []

    @property
    def is_over(self) -> bool:
        return self._state is not None and self._state.is_done

    def next_step(self, number: int) -> Step:
        before = self._state
        while True:
            command, player = self._choose()
            seed = sha256(self._random.randbytes(32)).digest()
            try:
                known = _without_key(before) if command == _KEYLESS else before
                context = c.Context(self._now_ms, partial(c.seal, seed))
                events, after = step(known, command, context)
            except OkeyError:
                continue  # refused: it leaves no row
            if events:
                break
        self._state = after
        for event in events:
            answer: c.Command | None
            if isinstance(event, e.MatchStartRequested) and self._random.random() < 0.1:
                answer = c.DeclineStart(event.match_id, (next(filter(None, event.hold_ids)),))
            else:
                answer = self._ledger.take(event)
            if answer is not None:
                self._answers.append(answer)
        digest = sha256(repr(command).encode()).digest()
        request = Request(player, f"request-{number}", digest) if player else None
        return Step(before, after, Row(number, self._now_ms, events, request))

    def _choose(self) -> tuple[c.Command, str]:
        """A command, and the person who asks for it, if one does."""
        state = self._state
        if state is None:
            return c.OpenTable(self._config, _PEOPLE[0]), _PEOPLE[0]
        self._now_ms += self._random.randrange(1, 3_000)
        seated = [seat.player for seat in state.seats if seat.is_person]
        if state.phase in (Phase.COUNTDOWN, Phase.STARTING) and self._random.random() < 0.1:
            return c.LeaveSeat(seated[0]), seated[0]
        if len(seated) == 1 and self._random.random() < 0.05:
            return c.ClaimMatch(seated[0]), seated[0]  # mostly refused
        away = [seat.player for seat in state.seats if seat.away_deadline_ms]
        if away and self._random.random() < 0.3:
            return c.ReturnToSeat(away[0]), away[0]
        if self._answers and self._random.random() < 0.7:
            return self._answers.pop(0), ""
        if self._random.random() < 0.06:
            return self._mischief(state)
        if state.round is not None and state.round.turn is not None:
            return self._move(state)
        for index, seat in enumerate(state.seats):
            if state.phase is Phase.NACHSPIEL and seat.status is SeatStatus.DECIDING:
                return c.PlayOn(seat.player), seat.player
            if state.phase is Phase.WAITING and seat.status is SeatStatus.FREE:
                free = self._random.choice([p for p in _PEOPLE if state.seat_of(p) < 0])
                return c.TakeSeat(free, index), free
        return self._clock(state)

    def _move(self, state: TableState) -> tuple[c.Command, str]:
        assert state.round is not None
        assert state.round.turn is not None
        turn = state.round.turn
        seat = state.seats[turn.seat]
        seen = view(state, turn.seat)
        is_stand_in = seat.away_deadline_ms > 0
        action: c.Action = choose(seen, BotLevel.NORMAL, is_stand_in, self._random.randrange(2**32))
        if not is_stand_in and self._random.random() < 0.3:
            special: dict[LegalAction, c.Action] = {
                LegalAction.SHOW_GOSTERGE: c.ShowGosterge(),
                LegalAction.ANNOUNCE_CIFT: c.AnnounceCift(),
                LegalAction.WITHDRAW_CIFT: c.WithdrawCift(),
            }
            action = next((special[a] for a in seen.legal_actions if a in special), action)
        if seat.is_ai_played:
            return c.BotMove(turn.seat, turn.number, action), ""
        return c.PlayerMove(seat.player, turn.number, action), seat.player

    def _clock(self, state: TableState) -> tuple[c.Command, str]:
        timers = sorted(running_timers(state), key=lambda timer: timer.deadline_ms)
        if not timers:
            return self._answers.pop(0), ""
        self._now_ms = max(self._now_ms, timers[0].deadline_ms)
        return c.Expire(timers[0]), ""

    def _mischief(self, state: TableState) -> tuple[c.Command, str]:
        player = self._random.choice(_PEOPLE)
        timers = running_timers(state)
        late = self._random.choice(timers) if timers else None
        rare = self._random.random()
        if rare < 0.01:
            return c.VoidTable("operator", "a walk"), ""
        if rare < 0.05:
            return c.VoidMatch("operator", "a walk"), ""
        if rare < 0.15:
            return c.Forfeit(player), player
        if rare < 0.17:
            return _KEYLESS, ""
        if rare < 0.3:
            return c.TakeOver("engine-2", self._now_ms - self._random.randrange(9_000)), ""
        if rare < 0.7 and late is not None:
            self._now_ms = max(self._now_ms, late.deadline_ms)
            return c.Expire(late), ""
        if rare < 0.8:
            return c.ReturnToSeat(player), player
        if rare < 0.95:
            return c.AddNonce(player, self._random.randbytes(32)), player
        return c.LeaveSeat(player), player


def _without_key(state: TableState | None) -> TableState | None:
    """The table as an engine knows it that cannot decrypt its seed."""
    if state is None:
        return None
    sealed = state.sealed and c.SealedSeed(b"", state.sealed.commitment)
    lost = state.round and replace(state.round, seed=b"")
    return replace(state, sealed=sealed, round=lost)


def table_named(kind: str, number: int = 1) -> TableConfig:
    """The kind's settings, with an id of its own."""
    name = f"{kind}-{number}".replace("-", "x")
    return replace(KINDS[kind], table_id=name.ljust(26, "0"))

"""Whole tables played at random by the real state machine, with hands put in so that rounds end.

Every kind of ending comes up often: finishes of all kinds by people and by AIs, draws, seats given
up, late players, claims, tie-breaks, people who leave the Nachspiel and newcomers.
"""

from collections import Counter
from dataclasses import dataclass, field, replace
from random import Random

from okey.money.account import Account
from okey.rules.rule_set import RuleSet
from okey.rules.tile import Tile, okey_of
from okey.rules.variant import Mode, Variant
from okey.simulation.ledger import DictionaryLedger
from okey.table import commands as c
from okey.table import events as e
from okey.table.config import TableConfig
from okey.table.events import Event
from okey.table.legal import LegalAction, legal_actions
from okey.table.state import Phase, SeatStatus
from tests.driver import FAR, GOSTERGE, NORMAL, Driver

PEOPLE = tuple(f"player-{number}" for number in range(7))
PAIRS = "Y2 Y2 Y5 Y5 B8 B8 R11 R11 Y13 Y13 K3 K3 K9 K9"
SHOWING = FAR.replace("Y8", str(GOSTERGE))
MOST_MATCHES = 4
"""At one table; then everybody leaves."""

KINDS = {
    "canak-2": TableConfig("", seat_count=2),
    "canak-4": TableConfig("", seat_count=4),
    "canak-fill": TableConfig("", seat_count=4, house_fill_after_ms=1_000),
    "solo-2": TableConfig("", mode=Mode.SOLO, seat_count=2),
    "solo-4": TableConfig("", mode=Mode.SOLO, seat_count=4),
    "esli": TableConfig("", mode=Mode.ESLI),
    "klasik-2": TableConfig("", Variant.KLASIK, seat_count=2, start_points=5),
    "klasik-4": TableConfig("", Variant.KLASIK, seat_count=4, start_points=3),
}


@dataclass
class Played:
    """One table from opening to closing: its events and what every account holds then, in chips."""

    config: TableConfig
    events: list[Event] = field(default_factory=list)
    balances: Counter[Account] = field(default_factory=Counter)
    welcomed: dict[str, int] = field(default_factory=dict)

    @property
    def matches(self) -> int:
        """How many matches ended."""
        return sum(isinstance(event, e.MatchEnded) for event in self.events)


def play(kind: str, seed: int, rules: RuleSet) -> Played:
    """A table of this kind, played until it is closed; the same arguments, the same table."""
    random = Random(f"{kind}-{seed}")
    stake = random.choice((50, 51, 55, 77, 333, 9_999))
    config = replace(
        KINDS[kind],
        table_id=f"{kind}-{seed}".replace("-", "x").ljust(26, "0"),
        stake=stake,
        rules=rules,
    )
    return _Player(config, seed, random).play()


class _Player:
    def __init__(self, config: TableConfig, seed: int, random: Random) -> None:
        self.random = random
        self.table = Driver(config, first_seed=seed * 10_000)
        self.bank = DictionaryLedger(config)
        self.played = Played(config, self.table.events, self.bank.balances)
        for player in PEOPLE:
            chips = config.stake * random.choice((1, 2, 40)) + random.randrange(config.stake)
            self.bank.welcome(player, chips)
            self.played.welcomed[player] = chips

    def play(self) -> Played:
        """Until the table is closed."""
        self.do(c.OpenTable(self.played.config, PEOPLE[0]))
        while not self.table.state.is_done:
            self.step()
        return self.played

    def do(self, command: c.Command) -> None:
        """Apply a command, and every answer of the wallet that follows."""
        pending = [command]
        while pending:
            for event in self.table.do(pending.pop(0)):
                answer = self.bank.take(event)
                if answer is not None:
                    pending.append(answer)

    def chance(self, of: float) -> bool:
        return self.random.random() < of

    def step(self) -> None:
        """One thing that happens, whatever the table waits for."""
        table = self.table
        if table.is_in(Phase.PLAYING) or table.is_in(Phase.PAUSE):
            if self.chance(0.12) and self.somebody_ends_it():
                return
            if table.is_in(Phase.PAUSE):
                self.ring(c.TimerKind.ROUND_PAUSE)
            else:
                self.turn()
        elif table.is_in(Phase.COUNTDOWN):
            self.ring(c.TimerKind.COUNTDOWN)
        elif table.is_in(Phase.NACHSPIEL):
            self.nachspiel()
        else:
            self.wait_for_players()

    def somebody_ends_it(self) -> bool:
        """A person claims the match or gives up; False where nobody may."""
        people = [i for i, seat in enumerate(self.table.state.seats) if seat.is_person]
        seat = self.random.choice(people)
        player = self.table.player(seat)
        names = {action.name for action in legal_actions(self.table.state, seat)}
        # A clock that has run out counts before it rings; here a long one may ring late.
        is_late = 0 < self.table.seat(seat).away_deadline_ms <= self.table.now_ms
        if "CLAIM_MATCH" in names and self.chance(0.7) and not is_late:
            self.do(c.ClaimMatch(player))
        elif "FORFEIT" in names:
            self.do(c.Forfeit(player))
        return bool({"CLAIM_MATCH", "FORFEIT"} & names)

    def turn(self) -> None:
        """The seat to move finishes, shows the gösterge, is late, or passes; or the stock ends."""
        table, seat = self.table, self.table.mover
        rare = self.random.random()
        if rare < 0.24:
            if table.turn.drawn is None:
                self.do(table.move(c.Draw(c.DrawSource.STOCK)))
            if LegalAction.FINISH in legal_actions(table.state, seat):
                self.finish(seat)
            else:
                self.discard()
        elif rare < 0.36:
            if table.turn.drawn is None:
                table.state = replace(table.state, round=replace(table.round, stock=(Tile.K2,)))
            self.pass_turn()
        elif rare < 0.42 and table.seat(seat).is_person:
            self.ring(c.TimerKind.TURN)
        elif rare < 0.5 and table.turn.drawn is None and not table.seat(seat).away_deadline_ms:
            table.arrange({seat: SHOWING})
            if LegalAction.SHOW_GOSTERGE in legal_actions(table.state, seat):
                self.do(table.move(c.ShowGosterge()))
        else:
            self.pass_turn()

    def finish(self, seat: int) -> None:
        """Put a hand in that finishes in one of the four ways, and lay the tile."""
        table = self.table
        is_pairs = not table.match.contenders and self.chance(0.4)
        laid = okey_of(GOSTERGE) if self.chance(0.4) else Tile.R13
        table.arrange({seat: f"{PAIRS if is_pairs else NORMAL} {laid}"})
        running = table.round
        hands = list(running.hands)
        announced_at = hands[seat].own_turns if is_pairs else 0
        hands[seat] = replace(hands[seat], announced_at=announced_at)
        table.state = replace(table.state, round=replace(running, hands=tuple(hands)))
        self.do(table.move(c.Finish(laid)))

    def pass_turn(self) -> None:
        if self.table.turn.drawn is None:
            self.do(self.table.move(c.Draw(c.DrawSource.STOCK)))
        self.discard()

    def discard(self) -> None:
        drawn = self.table.turn.drawn
        assert drawn is not None, "the turn has drawn"
        self.do(self.table.move(c.Discard(drawn)))

    def nachspiel(self) -> None:
        """Players who have not decided play on or leave; then the time is over."""
        for seat in self.table.state.seats:
            if seat.status is SeatStatus.DECIDING:
                is_on = self.played.matches < MOST_MATCHES and self.chance(0.7)
                self.do(c.PlayOn(seat.player) if is_on else c.LeaveSeat(seat.player))
                return
        self.ring(c.TimerKind.NACHSPIEL)

    def wait_for_players(self) -> None:
        """Newcomers sit down, bots fill in, or the table idles."""
        table = self.table
        free = [p for p in PEOPLE if table.state.seat_of(p) < 0]
        can_sit = any(seat.status is SeatStatus.FREE for seat in table.state.seats)
        if table.has_timer(c.TimerKind.HOUSE_FILL) and self.chance(0.4):
            self.ring(c.TimerKind.HOUSE_FILL)
        elif can_sit and self.played.matches < MOST_MATCHES and self.chance(0.95):
            self.do(c.TakeSeat(self.random.choice(free)))
        else:
            self.ring(c.TimerKind.IDLE)

    def ring(self, kind: c.TimerKind) -> None:
        timer = self.table.timer(kind)
        self.table.now_ms = max(self.table.now_ms, timer.deadline_ms)
        self.do(c.Expire(timer))

"""Play whole matches of one kind of table, one policy on every seat, deterministic in a seed."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from hashlib import sha256

from okey.money.account import Account, player_account
from okey.rules.finish import FinishKind
from okey.rules.variant import HOUSE_SEAT_LEVEL, BotLevel, Mode
from okey.simulation.ledger import DictionaryLedger
from okey.table import commands as c
from okey.table import events as e
from okey.table.config import TableConfig
from okey.table.decide import step
from okey.table.evolve import turn_of
from okey.table.state import Phase, SeatStatus, TableState, running_timers
from okey.table.view import TableView, view

Policy = Callable[[TableView, BotLevel, bool, int], c.Action]
"""(what the seat sees, level, whether it is a stand-in, seed) -> the seat's next action."""

MOVE_MS = 1_000
"""How long every move takes on the simulation's clock."""


@dataclass(slots=True)
class Report:
    """What came out: counts by outcome and by finish, and every account in chips.

    ``wins_by_seat`` counts matches, ``finishes_by_seat`` won rounds by (seat, finish);
    ``points_by_seat`` sums what is left after Klasik matches, ``chips_by_seat`` what people won.
    """

    matches: int = 0
    rounds: int = 0
    moves: int = 0
    outcomes: Counter[str] = field(default_factory=Counter)
    wins_by_seat: Counter[int] = field(default_factory=Counter)
    finishes_by_seat: Counter[tuple[int, FinishKind]] = field(default_factory=Counter)
    points_by_seat: Counter[int] = field(default_factory=Counter)
    chips_by_seat: Counter[int] = field(default_factory=Counter)
    balances: Counter[Account] = field(default_factory=Counter)

    @property
    def finishes(self) -> Counter[str]:
        """How often a round was won which way, whoever won it."""
        found: Counter[str] = Counter()
        for (_seat, finish), times in self.finishes_by_seat.items():
            found[finish.name] += times
        return found

    @property
    def total(self) -> int:
        """The sum over all accounts; anything but zero is a defect (M3)."""
        return sum(self.balances.values())


def simulate(config: TableConfig, matches: int, seed: int, policy: Policy) -> Report:
    """Play ``matches`` matches at tables like ``config``, one after another, and report.

    Everybody plays on in every Nachspiel as long as matches are left; a closed table is followed by
    a new one with the same players, who start with chips for every match.
    """
    report = Report()
    people = 1 if config.mode is Mode.SOLO else config.seat_count
    players = [f"player-{seat}" for seat in range(people)]
    bank = DictionaryLedger(config, report.balances)
    welcome = 2 * config.stake * matches + config.stake
    for player in players:
        bank.welcome(player, welcome)
    table_no = 0
    while report.matches < matches:
        table_no += 1
        table_id = sha256(f"okey-simulation:{seed}:{table_no}".encode()).hexdigest()[:26]
        table = _Table(replace(config, table_id=table_id), seed, policy, report)
        table.play(players, matches)
    for seat, player in enumerate(players):
        report.chips_by_seat[seat] = report.balances[player_account(player)] - welcome
    return report


class _Table:
    """One simulated table from its opening until it closes."""

    def __init__(self, config: TableConfig, seed: int, policy: Policy, report: Report) -> None:
        self.config = config
        self.policy = policy
        self.report = report
        self.ledger = DictionaryLedger(config, report.balances)
        self.stream = f"okey-simulation:{seed}:{config.table_id}"
        self.moves = 0
        self.now_ms = 0
        self.state: TableState | None = None

    def play(self, players: list[str], matches: int) -> None:
        """Seat the players and run until the table is closed."""
        state = self._do(c.OpenTable(self.config, players[0]))
        for player in players[1:]:
            state = self._do(c.TakeSeat(player))
        while not state.is_done:
            state = self._do(self._next_command(state, matches))

    def _next_command(self, state: TableState, matches: int) -> c.Command:
        if state.phase is Phase.PLAYING:
            return self._move(state)
        for seat in state.seats:
            if state.phase is Phase.NACHSPIEL and seat.status is SeatStatus.DECIDING:
                is_on = self.report.matches < matches
                return c.PlayOn(seat.player) if is_on else c.LeaveSeat(seat.player)
        timer = min(running_timers(state), key=lambda timer: timer.deadline_ms)
        self.now_ms = max(self.now_ms, timer.deadline_ms)
        return c.Expire(timer)

    def _move(self, state: TableState) -> c.Command:
        turn = turn_of(state)
        seat = state.seats[turn.seat]
        level = HOUSE_SEAT_LEVEL if seat.house is None else seat.house
        self.moves += 1
        seed = int.from_bytes(self._seed(f"move {self.moves}")[:8])
        action = self.policy(view(state, turn.seat), level, False, seed)
        self.now_ms += MOVE_MS
        self.report.moves += 1
        if seat.house is not None:
            return c.BotMove(turn.seat, turn.number, action)
        return c.PlayerMove(seat.player, turn.number, action)

    def _do(self, command: c.Command) -> TableState:
        """Apply a command, and at once every answer of the ledger that follows from it."""
        pending: list[c.Command] = [command]
        while pending:
            context = c.Context(self.now_ms, partial(c.seal, self._seed(self._coming_round())))
            events, self.state = step(self.state, pending.pop(0), context)
            for event in events:
                self._count(event)
                answer = self.ledger.take(event)
                if answer is not None:
                    pending.append(answer)
        assert self.state is not None, "a command leaves a state"
        return self.state

    def _coming_round(self) -> str:
        """Names the round that a fresh seed is for by its place alone: however a round is played,
        the next one has the same deal.
        """
        match = None if self.state is None else self.state.match
        return "round 1" if match is None else f"after {match.match_id} round {match.round_no}"

    def _seed(self, purpose: str) -> bytes:
        return sha256(f"{self.stream}:{purpose}".encode()).digest()

    def _count(self, event: e.Event) -> None:
        match event:
            case e.RoundEnded(seat=seat, finish=finish):
                self.report.rounds += 1
                if finish is not None:
                    self.report.finishes_by_seat[seat, finish] += 1
            case e.MatchEnded(kind=kind, winner=winner, points=points):
                self.report.matches += 1
                self.report.outcomes[kind.name] += 1
                self.report.points_by_seat.update(dict(enumerate(points)))
                if winner >= 0:
                    self.report.wins_by_seat[winner] += 1
            case _:
                pass

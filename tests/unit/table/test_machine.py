"""A stateful test: any command at any time, on every kind of table, with a wallet that is late."""

from collections import Counter

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from okey.bots.choose import choose
from okey.errors import OkeyError
from okey.money.account import Account, kasa_account
from okey.rules.finish import FinishRejected
from okey.rules.tile import FULL_SET, Tile
from okey.rules.variant import BotLevel, Mode, Variant
from okey.simulation.ledger import DictionaryLedger
from okey.table import commands as c
from okey.table import events as e
from okey.table.config import TableConfig
from okey.table.decide import step
from okey.table.errors import StandInMayNot
from okey.table.evolve import replay, turn_of
from okey.table.legal import LegalAction
from okey.table.public import REVEALED, is_privy, public_event
from okey.table.state import Phase, SeatStatus, TableState, running_timers
from okey.table.view import SPECTATOR, view

KINDS = [
    TableConfig("t", seat_count=2),
    TableConfig("t"),
    TableConfig("t", mode=Mode.SOLO, seat_count=2),
    TableConfig("t", mode=Mode.SOLO, bot_level=BotLevel.EASY),
    TableConfig("t", mode=Mode.ESLI),
    TableConfig("t", house_fill_after_ms=2_000),
    TableConfig("t", variant=Variant.KLASIK, seat_count=2, start_points=3),
    TableConfig("t", variant=Variant.KLASIK, start_points=3),
]
PLAYERS = [f"p{number}" for number in range(6)]
FINAL_STEPS = 6_000

players = st.sampled_from(PLAYERS)
tiles = st.sampled_from(list(Tile))
actions: st.SearchStrategy[c.Action] = st.one_of(
    st.sampled_from(list(c.DrawSource)).map(c.Draw),
    tiles.map(c.Discard),
    tiles.map(c.Finish),
    st.just(c.AnnounceCift()),
    st.just(c.WithdrawCift()),
    st.just(c.ShowGosterge()),
)


class TableMachine(RuleBasedStateMachine):
    """One table, its events, and a ledger that takes them in order, some time later."""

    state: TableState

    @initialize(
        config=st.sampled_from(KINDS), seed=st.integers(0, 2**32), chips=st.integers(0, 400)
    )
    def open_table(self, config: TableConfig, seed: int, chips: int) -> None:
        self.now_ms = 1_000
        self.commands = 0
        self.seed = seed
        self.events: list[e.Event] = []
        self.refusals: Counter[str] = Counter()
        self.for_the_wallet: list[e.Event] = []
        self.ledger = DictionaryLedger(config)
        for player in PLAYERS:
            self.ledger.welcome(player, 200 + chips)
        self.apply(None, c.OpenTable(config, PLAYERS[0]))

    def apply(self, state: TableState | None, command: c.Command) -> None:
        self.commands += 1
        fresh = c.seal((self.seed * 1_000_003 + self.commands).to_bytes(32))
        new, self.state = step(state, command, c.Context(self.now_ms, lambda: fresh))
        self.events.extend(new)
        self.for_the_wallet.extend(new)
        for event in new:
            for viewer in (SPECTATOR, REVEALED, 0):
                seen = public_event(event, viewer)
                assert is_privy(event, viewer) or seen == public_event(event, SPECTATOR)

    def attempt(self, command: c.Command) -> bool:
        """Whether the table took the command; a refused one leaves everything as it was."""
        before, count = self.state, len(self.events)
        try:
            self.apply(self.state, command)
        except OkeyError as refusal:
            assert self.state is before
            assert len(self.events) == count
            self.refusals[refusal.reason] += 1
            return False
        return True

    # What people and the lobby do

    @rule(player=players, seat=st.integers(-1, 4))
    def take_seat(self, player: str, seat: int) -> None:
        self.attempt(c.TakeSeat(player, seat))

    @precondition(lambda self: self.state.phase is Phase.WAITING)
    @rule()
    def fill_the_table(self) -> None:
        for player in PLAYERS:
            self.attempt(c.TakeSeat(player))

    @rule(player=players)
    def leave(self, player: str) -> None:
        self.attempt(c.LeaveSeat(player))

    @rule(player=players)
    def play_on(self, player: str) -> None:
        self.attempt(c.PlayOn(player))

    @precondition(lambda self: self.state.phase is Phase.NACHSPIEL)
    @rule()
    def everybody_plays_on(self) -> None:
        for seat in self.state.seats:
            if seat.status is SeatStatus.DECIDING:
                assert self.attempt(c.PlayOn(seat.player))

    @rule(player=players, size=st.sampled_from([32, 32, 31]))
    def add_nonce(self, player: str, size: int) -> None:
        self.attempt(c.AddNonce(player, bytes([7]) * size))

    @rule(player=players, is_sure=st.integers(0, 3))
    def forfeit(self, player: str, is_sure: int) -> None:
        if is_sure == 0:
            self.attempt(c.Forfeit(player))

    @rule(player=players)
    def come_back(self, player: str) -> None:
        self.attempt(c.ReturnToSeat(player))

    # Moves, legal and not

    @rule(player=players, lag=st.integers(-2, 1), action=actions)
    def any_move(self, player: str, lag: int, action: c.Action) -> None:
        self.attempt(c.PlayerMove(player, self.state.last_turn + lag, action))

    @rule(seat=st.integers(0, 3), action=actions)
    def any_ai_move(self, seat: int, action: c.Action) -> None:
        self.attempt(c.BotMove(seat % len(self.state.seats), self.state.last_turn, action))

    @precondition(lambda self: self.state.phase is Phase.PLAYING)
    @rule(pick=st.integers(0, 2**16))
    def legal_move(self, pick: int) -> None:
        turn, hand = turn_of(self.state), self.hand_to_move()
        tile = hand[pick % len(hand)]
        choices: dict[LegalAction, c.Action] = {
            LegalAction.DRAW_STOCK: c.Draw(c.DrawSource.STOCK),
            LegalAction.DRAW_DISCARD: c.Draw(c.DrawSource.DISCARD),
            LegalAction.DISCARD: c.Discard(tile),
            LegalAction.FINISH: c.Finish(tile),
            LegalAction.ANNOUNCE_CIFT: c.AnnounceCift(),
            LegalAction.WITHDRAW_CIFT: c.WithdrawCift(),
            LegalAction.SHOW_GOSTERGE: c.ShowGosterge(),
        }
        legal = [each for each in view(self.state, turn.seat).legal_actions if each in choices]
        self.move(choices[legal[pick % len(legal)]])

    @precondition(lambda self: self.state.phase is Phase.PLAYING)
    @rule(moves=st.integers(1, 60))
    def play_well(self, moves: int) -> None:
        for _ in range(moves):
            if self.state.phase is Phase.PLAYING:
                self.play_one()

    def play_one(self) -> None:
        seat = turn_of(self.state).seat
        is_stand_in = self.state.seats[seat].away_deadline_ms > 0
        self.move(choose(view(self.state, seat), BotLevel.NORMAL, is_stand_in, self.commands))

    def move(self, action: c.Action) -> None:
        """The seat to move does what it may: only a finish or a stand-in's discard is refused."""
        turn = turn_of(self.state)
        seat = self.state.seats[turn.seat]
        self.now_ms = min(self.now_ms + 10, turn.deadline_ms - 1)
        command: c.Command = c.PlayerMove(seat.player, turn.number, action)
        if seat.is_ai_played:
            command = c.BotMove(turn.seat, turn.number, action)
        try:
            self.apply(self.state, command)
        except FinishRejected:
            assert isinstance(action, c.Finish)
        except StandInMayNot:
            self.apply(self.state, c.NeutralMove(turn.seat, turn.number))

    # The world

    @rule(count=st.integers(1, 4))
    def the_wallet_answers(self, count: int) -> None:
        for _ in range(count):
            if self.for_the_wallet:
                answer = self.ledger.take(self.for_the_wallet.pop(0))
                if answer is not None:
                    self.apply(self.state, answer)

    @rule()
    def everything_is_answered(self) -> None:
        while self.for_the_wallet:
            self.the_wallet_answers(1)

    @rule(is_first=st.booleans())
    def a_clock_runs_out(self, is_first: bool) -> None:
        """U12: the clock that runs counts, and counts once."""
        timers = sorted(running_timers(self.state), key=lambda timer: timer.deadline_ms)
        if timers:
            timer = timers[0 if is_first else -1]
            if self.now_ms < timer.deadline_ms:
                assert not self.attempt(c.Expire(timer))
            self.now_ms = max(self.now_ms, timer.deadline_ms)
            assert self.attempt(c.Expire(timer))
            assert not self.attempt(c.Expire(timer))

    @rule(ago=st.integers(0, 40_000))
    def another_engine_takes_over(self, ago: int) -> None:
        self.attempt(c.TakeOver("engine-2", self.now_ms - ago))

    @rule(is_sure=st.integers(0, 5))
    def an_operator_voids(self, is_sure: int) -> None:
        if is_sure == 0:
            self.attempt(c.VoidMatch("op", "test"))

    @rule(is_sure=st.integers(0, 20))
    def an_operator_ends_the_table(self, is_sure: int) -> None:
        """M10: whatever it was doing, and every chip goes where it belongs."""
        if is_sure == 0:
            self.attempt(c.VoidTable("op", "test"))

    # What always holds

    def hand_to_move(self) -> tuple[Tile, ...]:
        assert self.state.round is not None
        return self.state.round.hands[turn_of(self.state).seat].rack

    @invariant()
    def there_are_106_tiles(self) -> None:
        """T1, T3: every tile is in one rack, one pile, the stock or on the table as gösterge."""
        running = self.state.round
        assert (running is not None) == (self.state.phase is Phase.PLAYING)
        if running is not None:
            held = Counter((running.gosterge, *running.stock))
            for hand in running.hands:
                held.update(hand.rack + hand.pile)
                assert Counter(hand.taken) <= Counter(hand.rack)
            assert held == Counter(FULL_SET)

    @invariant()
    def one_seat_is_to_move(self) -> None:
        """U1: the seat to move holds 15 once it has drawn, everybody else 14."""
        running = self.state.round
        if running is not None:
            turn = turn_of(self.state)
            for seat in running.playing:
                has_drawn = seat == turn.seat and turn.drawn is not None
                assert len(running.hands[seat].rack) == 14 + has_drawn

    @invariant()
    def no_chip_is_made_or_lost(self) -> None:
        """M3: accounts sum to zero, no player is below zero, the table knows its kasa."""
        assert self.ledger.total == 0
        for account, chips in self.ledger.balances.items():
            assert chips >= 0 or account.startswith(("house:", "system:"))
        if not self.for_the_wallet and not self.state.is_done:
            assert self.ledger.balances[kasa_account("t")] == self.state.kasa

    @invariant()
    def a_player_has_one_seat(self) -> None:
        """W3: nobody sits twice."""
        owners = [seat.player for seat in self.state.seats if seat.player]
        assert len(owners) == len(set(owners))

    def teardown(self) -> None:
        """Every match ends and every table closes, with nothing left in escrow, pot or kasa."""
        if not hasattr(self, "state"):
            return
        for _ in range(FINAL_STEPS):
            if self.state.is_done:
                break
            self.step_to_the_end()
        assert self.state.is_done, f"still {self.state.phase.name} after {FINAL_STEPS} steps"
        self.everything_is_answered()
        self.no_chip_is_made_or_lost()
        assert replay(self.events) == self.state
        assert all(reason.isupper() for reason in self.refusals)
        left = {name: chips for name, chips in self.ledger.balances.items() if _is_passing(name)}
        assert not any(left.values()), left

    def step_to_the_end(self) -> None:
        if self.for_the_wallet:
            self.everything_is_answered()
        elif self.state.phase is Phase.PLAYING and self.now_ms < turn_of(self.state).deadline_ms:
            self.play_one()
        else:
            self.a_clock_runs_out(True)


def _is_passing(account: Account) -> bool:
    return account.startswith(("escrow:", "pot:", "kasa:"))


TableMachine.TestCase.settings = settings(
    max_examples=150,
    stateful_step_count=50,
    deadline=None,
    derandomize=True,
    suppress_health_check=list(HealthCheck),
)
TestAnyOrderOfCommandsKeepsTheTableWhole = pytest.mark.deep(TableMachine.TestCase)

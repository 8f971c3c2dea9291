"""The wallet against a dictionary: any commands in any order, repeated and mixed up."""

import asyncio
from collections.abc import Iterator
from dataclasses import replace
from itertools import count
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, rule, run_state_machine_as_test
from sqlalchemy import Connection, select

from okey.errors import OkeyError
from okey.money.account import SHARED_ACCOUNTS
from okey.money.forfeit import ForfeitCause
from okey.money.outcome import CanakDraw, CanakWin, HouseWin, KlasikDraw, KlasikWin, Outcome
from okey.rules.finish import FinishKind
from okey.rules.rule_set import DEFAULT_RULE_SET
from okey.rules.variant import Mode, Variant
from okey_runtime.clock import VirtualClock
from okey_runtime.database import Database
from okey_runtime.migrations import migrate
from services.wallet import schema
from services.wallet.app import MIGRATIONS
from services.wallet.books import House
from services.wallet.command import (
    CloseTable,
    Command,
    ForfeitSeat,
    GrantChips,
    HoldStake,
    SettleMatch,
    StartMatch,
    VoidHold,
    VoidMatch,
)
from services.wallet.wallet import Wallet
from tests.contract.wallet_model import Answer, WalletModel
from tests.fixtures.ledger import LedgerUrls, make_ledger
from tests.fixtures.postgres import PostgresServer

WELCOME = 500
VERSION = DEFAULT_RULE_SET.version
HOUSE = House(
    rule_sets={VERSION: DEFAULT_RULE_SET},
    current_version=VERSION,
    welcome_chips=WELCOME,
    approval_limit_chips=None,
)

players = st.sampled_from("ABCDE")
seats = st.integers(0, 3)
tables = st.sampled_from("xy")
stakes = st.sampled_from((60, 60, 60, 75, 301, 10))
back = st.sampled_from((0, 0, 0, 0, 1))
outcomes: st.SearchStrategy[Outcome] = st.one_of(
    st.builds(CanakWin, seats, st.sampled_from(FinishKind)),
    st.just(CanakDraw()),
    st.builds(KlasikWin, seats),
    st.builds(KlasikDraw, st.lists(seats, min_size=1, max_size=4, unique=True).map(tuple)),
    st.just(HouseWin()),
)


class WalletMachine(RuleBasedStateMachine):
    """Two tables, five people; each example has tables and people of its own in one ledger."""

    wallet: Wallet
    database: Database
    runner: asyncio.Runner
    numbers: Iterator[int]

    def __init__(self) -> None:
        super().__init__()
        self.model = WalletModel(WELCOME)
        self.prefix = f"{next(self.numbers):06}".translate(
            str.maketrans("0123456789", "abcdefghij")
        )
        self.match_no = {"x": 1, "y": 1}
        self.asked: list[tuple[str, Command]] = []
        self.keys = count()

    def match_id(self, table: str, back: int = 0) -> str:
        return f"{self.prefix}{table * 20}-{max(1, self.match_no[table] - back)}"

    def ask(self, command: Command, key: str = "") -> Answer:
        """Ask wallet and model; they must say the same."""
        key = key or f"{self.prefix}:{next(self.keys)}"
        self.asked.append((key, command))
        expected = self.model.execute(key, command)
        assert self.runner.run(self._answer(key, command)) == expected
        return expected

    async def _answer(self, key: str, command: Command) -> Answer:
        try:
            receipt = await self.wallet.execute(key, command)
        except OkeyError as error:
            return Answer(error.reason)
        legs = frozenset((leg.account, leg.amount) for leg in receipt.legs)
        return Answer("OK", legs, receipt.penalty, receipt.shortfall)

    def holding(self, table: str, seat: int, player: str, stake: int, back: int = 0) -> HoldStake:
        match_id = self.match_id(table, back)
        return HoldStake(
            hold_id=f"{match_id}-{seat}",
            table_id=self.prefix + table * 20,
            match_id=match_id,
            player_id=f"{self.prefix}{player}",
            stake=stake,
            rules_version=VERSION,
        )

    def starting(
        self, table: str, holds: tuple[str | None, ...], variant: Variant, mode: Mode, stake: int
    ) -> StartMatch:
        return StartMatch(
            table_id=self.prefix + table * 20,
            match_id=self.match_id(table),
            variant=variant,
            mode=mode,
            stake=stake,
            rules_version=VERSION,
            holds=holds,
        )

    @rule(table=tables, seat=seats, player=players, stake=stakes, back=back)
    def hold(self, table: str, seat: int, player: str, stake: int, back: int) -> None:
        self.ask(self.holding(table, seat, player, stake, back))

    @rule(table=tables, seat=seats, back=back)
    def void_hold(self, table: str, seat: int, back: int) -> None:
        self.ask(VoidHold(hold_id=f"{self.match_id(table, back)}-{seat}"))

    @rule(
        table=tables,
        sitting=st.permutations("ABCDE-").map(lambda all_: all_[:4]),
        count=st.sampled_from((2, 4)),
        variant=st.sampled_from(Variant),
        mode=st.sampled_from((Mode.NORMAL, Mode.NORMAL, Mode.ESLI)),
    )
    def seat_and_start(
        self, table: str, sitting: list[str], count: int, variant: Variant, mode: Mode
    ) -> None:
        holds: list[str | None] = []
        for seat, player in enumerate(sitting[:count]):
            asked = self.holding(table, seat, player, 60)
            holds.append(None if player == "-" else asked.hold_id)
            if player != "-":
                self.ask(asked)
        self.ask(self.starting(table, tuple(holds), variant, mode, 60))

    @rule(
        table=tables,
        sitting=st.permutations("ABCDE-").map(lambda all_: all_[:4]),
        gives_up=st.lists(seats, max_size=2),
        ending=outcomes,
    )
    def play_match(
        self, table: str, sitting: list[str], gives_up: list[int], ending: Outcome
    ) -> None:
        """A whole match of four, with holds that nobody else has."""
        is_klasik = isinstance(ending, KlasikWin | KlasikDraw)
        attempt = len(self.asked)
        holds: list[str | None] = []
        for seat, player in enumerate(sitting):
            asked = self.holding(table, seat, player, 60)
            asked = replace(asked, hold_id=f"{asked.hold_id}-{attempt}")
            holds.append(None if player == "-" else asked.hold_id)
            if player != "-":
                self.ask(asked)
        variant = Variant.KLASIK if is_klasik else Variant.CANAK
        self.ask(self.starting(table, tuple(holds), variant, Mode.NORMAL, 60))
        for seat in gives_up:
            self.forfeit(table, seat, 0, ForfeitCause.GAVE_UP)
        self.settle(table, ending, 0)

    @rule(table=tables, outcome=outcomes, back=back)
    def settle(self, table: str, outcome: Outcome, back: int) -> None:
        answer = self.ask(SettleMatch(match_id=self.match_id(table, back), outcome=outcome))
        self.match_no[table] += answer.reason == "OK"

    @rule(table=tables, back=back)
    def void(self, table: str, back: int) -> None:
        answer = self.ask(VoidMatch(match_id=self.match_id(table, back)))
        self.match_no[table] += answer.reason == "OK"

    @rule(table=tables, seat=seats, back=back, cause=st.sampled_from(ForfeitCause))
    def forfeit(self, table: str, seat: int, back: int, cause: ForfeitCause) -> None:
        self.ask(ForfeitSeat(match_id=self.match_id(table, back), seat=seat, cause=cause))

    @rule(table=st.sampled_from("xxxxy"), really=st.sampled_from((False, False, True)))
    def close(self, table: str, really: bool) -> None:
        if really:
            self.ask(CloseTable(table_id=self.prefix + table * 20))

    @rule(player=players, amount=st.sampled_from((0, 1, 60, 10**15 - 400, 10**15)))
    def grant(self, player: str, amount: int) -> None:
        name = self.prefix + player
        self.ask(GrantChips(player_id=name, amount=amount, actor="op", reason="a test"))

    @rule(chosen=st.integers(0, 10**6), other=st.booleans())
    def again(self, chosen: int, other: bool) -> None:
        """M5: the same key again, with the same content or another's."""
        if self.asked:
            key, command = self.asked[chosen % len(self.asked)]
            self.ask(self.asked[chosen // 7 % len(self.asked)][1] if other else command, key)

    def teardown(self) -> None:
        """M3: every balance is the model's, and every chip is accounted for."""

        def read(connection: Connection) -> dict[str, int]:
            account, balance = schema.accounts.c.account, schema.accounts.c.balance
            rows = connection.execute(select(account, balance).where(balance != 0))
            # Not by LIKE: SQLite's knows no upper case, and finds "ajE" when it looks for "aje".
            return {row.account: row.balance for row in rows if f":{self.prefix}" in row.account}

        booked = self.model.balances.items()
        kept = {name: chips for name, chips in booked if name not in SHARED_ACCOUNTS and chips}
        assert self.runner.run(self.database.read(read)) == kept


def play(urls: LedgerUrls, examples: int, steps: int) -> None:
    """Run the machine on this ledger, and check the whole of it at the end."""
    with asyncio.Runner() as runner:
        database = Database(urls.application)
        wallet = Wallet(database, HOUSE, VirtualClock())

        class OnLedger(WalletMachine):
            pass

        OnLedger.runner, OnLedger.database, OnLedger.wallet = runner, database, wallet
        OnLedger.numbers = count(1)
        try:
            run_state_machine_as_test(
                OnLedger, settings=settings(max_examples=examples, stateful_step_count=steps)
            )
            assert runner.run(wallet.audit()).findings == ()
        finally:
            runner.run(database.close())


@pytest.fixture(params=["sqlite", "postgresql"])
def urls(request: pytest.FixtureRequest, tmp_path: Path) -> LedgerUrls:
    """A ledger of the machine's own: it runs in a loop of its own."""
    if request.param == "sqlite":
        path = tmp_path / "wallet.db"
        with asyncio.Runner() as runner:
            runner.run(migrate(f"sqlite:///{path}", MIGRATIONS))
        return LedgerUrls.of_anyone(f"sqlite:///{path}")
    server: PostgresServer = request.getfixturevalue("postgres_server")
    with asyncio.Runner() as runner:
        return runner.run(make_ledger(server))


def test_the_wallet_is_its_model(urls: LedgerUrls) -> None:
    """M1, M2, M3, M4, M5, M9, M10: the same answers and the same balances, whatever comes."""
    play(urls, examples=10, steps=20)


@pytest.mark.long
def test_the_wallet_is_its_model_for_long(urls: LedgerUrls) -> None:
    """M1, M2, M3, M4, M5, M9, M10: the same, three hundred times fifty commands and more."""
    play(urls, examples=300, steps=50)

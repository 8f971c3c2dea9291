"""A table's money events in the words of the engine, for the wallet's contract suite."""

from itertools import count

from sqlalchemy import text

from okey.money.account import Account, kasa_account, parse_account, player_account
from okey.money.forfeit import ForfeitCause
from okey.money.outcome import Outcome
from okey.rules.rule_set import DEFAULT_RULE_SET
from okey.rules.variant import Mode, Variant
from okey_runtime.database import Database
from services.wallet.command import (
    CloseTable,
    Command,
    ForfeitSeat,
    GrantChips,
    HoldStake,
    ReverseJournal,
    SettleMatch,
    StartMatch,
    VoidHold,
    VoidMatch,
)
from services.wallet.receipt import Receipt
from services.wallet.wallet import Wallet

VERSION = DEFAULT_RULE_SET.version
TABLE = "t" * 26
WELCOME = 10_000


class Play:
    """One table; every step is a request with a new key unless one is given."""

    def __init__(
        self,
        wallet: Wallet,
        *,
        table_id: str = TABLE,
        variant: Variant = Variant.CANAK,
        mode: Mode = Mode.NORMAL,
        stake: int = 100,
    ) -> None:
        self.wallet = wallet
        self.table_id = table_id
        self.variant = variant
        self.mode = mode
        self.stake = stake
        self.match_no = 1
        self.rules_version = VERSION
        self._keys = count(1)

    @property
    def match_id(self) -> str:
        """The match that is being paid or played."""
        return f"{self.table_id}-{self.match_no}"

    def hold_id(self, seat: int, attempt: int = 1) -> str:
        """The hold of a seat."""
        return f"{self.match_id}-{seat}-{attempt}"

    async def ask(self, command: Command, key: str | None = None) -> Receipt:
        """Any command."""
        return await self.wallet.execute(key or f"{self.table_id}:{next(self._keys)}", command)

    def holding(self, seat: int, player: str, attempt: int = 1) -> HoldStake:
        """The command that takes a player's stake."""
        return HoldStake(
            hold_id=self.hold_id(seat, attempt),
            table_id=self.table_id,
            match_id=self.match_id,
            player_id=player,
            stake=self.stake,
            rules_version=self.rules_version,
        )

    async def hold(self, seat: int, player: str, attempt: int = 1) -> Receipt:
        """M1."""
        return await self.ask(self.holding(seat, player, attempt))

    async def void_hold(self, seat: int, attempt: int = 1) -> Receipt:
        """M1."""
        return await self.ask(VoidHold(hold_id=self.hold_id(seat, attempt)))

    def starting(self, *holds: str | None) -> StartMatch:
        """The command that makes the pot."""
        return StartMatch(
            table_id=self.table_id,
            match_id=self.match_id,
            variant=self.variant,
            mode=self.mode,
            stake=self.stake,
            rules_version=self.rules_version,
            holds=holds,
        )

    async def seat_and_start(self, players: str) -> Receipt:
        """Hold and start: one letter a seat, '-' is the house."""
        for seat, player in enumerate(players):
            if player != "-":
                await self.hold(seat, player)
        holds = [None if each == "-" else self.hold_id(seat) for seat, each in enumerate(players)]
        return await self.ask(self.starting(*holds))

    async def settle(self, outcome: Outcome) -> Receipt:
        """M4; the next match is the next number."""
        receipt = await self.ask(SettleMatch(match_id=self.match_id, outcome=outcome))
        self.match_no += 1
        return receipt

    async def void(self) -> Receipt:
        """M10."""
        return await self.ask(VoidMatch(match_id=self.match_id))

    async def forfeit(self, seat: int, cause: ForfeitCause = ForfeitCause.GAVE_UP) -> Receipt:
        """M9, U9."""
        return await self.ask(ForfeitSeat(match_id=self.match_id, seat=seat, cause=cause))

    async def close(self) -> Receipt:
        """Ç10."""
        return await self.ask(CloseTable(table_id=self.table_id))

    async def grant(self, player: str, amount: int) -> Receipt:
        """M3."""
        granted = GrantChips(player_id=player, amount=amount, actor="op", reason="a test")
        return await self.ask(granted)

    async def reverse(self, journal_id: int | None) -> Receipt:
        """A new journal that undoes one."""
        assert journal_id is not None
        back = ReverseJournal(journal_id=journal_id, actor="op", reason="a test")
        return await self.ask(back)

    async def purse(self, player: str) -> int:
        """A player's chips."""
        return await balance(self.wallet, player_account(player))

    async def purses(self, players: str) -> list[int]:
        """Some players' chips."""
        return [await self.purse(player) for player in players]

    async def kasa(self) -> int:
        """The table's kasa."""
        return await balance(self.wallet, kasa_account(self.table_id))


async def balance(wallet: Wallet, account: Account | str) -> int:
    """An account's chips; a player's is opened."""
    return (await wallet.account(parse_account(account), may_open=True)).balance


async def freeze(database: Database, player: str) -> None:
    """Freeze a player's account, as the audit's operator does."""
    await database.transact(
        lambda connection: connection.execute(
            text("UPDATE accounts SET frozen = :yes WHERE account = :name"),
            {"yes": True, "name": player_account(player)},
        )
    )

"""What happens at a table with money in it, in every way that the wallet is asked something."""

from collections.abc import Awaitable, Callable
from typing import Final

from okey.rules.tile import Tile
from okey.rules.variant import Variant
from okey.table import commands as c
from okey.table.config import TableConfig
from okey.table.state import Phase, SeatStatus, TableState
from tests.factories import TABLE_ID
from tests.failpoints.crashing import Crashing
from tests.failpoints.door import WELCOME

Scenario = Callable[[Crashing], Awaitable[None]]

PLAIN: Final = "R13"
OKEY: Final = "R8"
CANAK: Final = TableConfig(TABLE_ID, seat_count=2, stake=100)
KLASIK: Final = TableConfig(TABLE_ID, Variant.KLASIK, seat_count=2, stake=100, start_points=3)
DEAR: Final = TableConfig(TABLE_ID, seat_count=2, stake=WELCOME)


async def hold_and_leave(on: Crashing) -> None:
    """M1: both pay, both leave before the start."""
    await paid(on, CANAK)
    for player in ("bert", "anna"):
        await on.ask(player, c.LeaveSeat(player))


async def hold_declined(on: Crashing) -> None:
    """M2: who has staked everything cannot do so again; the others keep their seats."""
    await draw(on, DEAR)
    await on.until(is_in(Phase.NACHSPIEL))
    for player in ("anna", "bert"):
        await on.ask(player, c.PlayOn(player))
    await on.until(lambda table: not any(seat.is_person for seat in table.seats))


async def canak_win(on: Crashing) -> None:
    """Ç3: the pot is won, the kasa stands; nobody plays on and it goes to the house (Ç10)."""
    await win(on, CANAK, PLAIN)
    await on.until(is_in(Phase.NACHSPIEL))
    for player in ("anna", "bert"):
        await on.ask(player, c.LeaveSeat(player))


async def okey_win(on: Crashing) -> None:
    """Ç4: pot and kasa are won, the table closes."""
    await win(on, CANAK, OKEY)


async def drawn(on: Crashing) -> None:
    """Ç7: the pot goes back, the kasa stands; silence sends both to the lobby (Ç9)."""
    await draw(on, CANAK)
    await on.until(is_in(Phase.NACHSPIEL))
    await on.until(is_in(Phase.CLOSED), ring=c.TimerKind.NACHSPIEL)


async def klasik_win(on: Crashing) -> None:
    """K4, K7: the match is won in one round; rake."""
    await win(on, KLASIK, OKEY)


async def forfeit_and_settle(on: Crashing) -> None:
    """M9: one gives up and pays, the other wins."""
    table = await started(on, CANAK, PLAIN)
    await on.ask("bert", c.Forfeit("bert"))
    await finish(on, table, PLAIN)
    await on.until(is_in(Phase.NACHSPIEL))
    await on.ask("anna", c.LeaveSeat("anna"))


async def everybody_forfeits(on: Crashing) -> None:
    """M8: nobody is left who could win, the house does."""
    await started(on, CANAK, PLAIN)
    for player in ("bert", "anna"):
        await on.ask(player, c.Forfeit(player))


async def voided(on: Crashing) -> None:
    """M10: an operator takes the match back; penalties stand."""
    await started(on, CANAK, PLAIN)
    await on.ask("bert", c.Forfeit("bert"))
    await on.ask("op", c.VoidMatch("op", "a test"))
    await on.until(is_in(Phase.NACHSPIEL))
    await on.ask("anna", c.LeaveSeat("anna"))


async def leave_during_start(on: Crashing) -> None:
    """W2: the start is committed and voided before the deal; who stays is asked anew."""
    await paid(on, CANAK)
    on.door.is_open.clear()
    await on.until(is_in(Phase.STARTING), ring=c.TimerKind.COUNTDOWN)
    await on.ask("bert", c.LeaveSeat("bert"))
    on.door.is_open.set()
    await on.until(lambda table: table.phase is Phase.WAITING and has_paid(table, "anna"))
    await on.ask("anna", c.LeaveSeat("anna"))


async def nachspiel(on: Crashing) -> None:
    """Ç8: both play on for the grown kasa, and an okey takes it."""
    await win(on, CANAK, PLAIN)
    await on.until(is_in(Phase.NACHSPIEL))
    for player in ("anna", "bert"):
        await on.ask(player, c.PlayOn(player))
    table = await dealt(on, OKEY)
    await finish(on, table, OKEY)


SCENARIOS: Final[tuple[Scenario, ...]] = (
    hold_and_leave,
    hold_declined,
    canak_win,
    okey_win,
    drawn,
    klasik_win,
    forfeit_and_settle,
    everybody_forfeits,
    voided,
    leave_during_start,
    nachspiel,
)


async def paid(on: Crashing, config: TableConfig) -> None:
    await on.open(config, "anna")
    # One after the other, so that the wallet is always asked in the same order.
    await on.until(lambda table: has_paid(table, "anna"))
    await on.ask("bert", c.TakeSeat("bert"))
    await on.until(lambda table: has_paid(table, "bert"))


async def started(
    on: Crashing, config: TableConfig, laid: str, stock: tuple[Tile, ...] | None = None
) -> TableState:
    await paid(on, config)
    return await dealt(on, laid, stock)


async def dealt(on: Crashing, laid: str, stock: tuple[Tile, ...] | None = None) -> TableState:
    await on.until(lambda table: table.round is not None, ring=c.TimerKind.COUNTDOWN)
    await on.arrange(laid, stock)
    return await on.until(lambda table: table.round is not None)


async def win(on: Crashing, config: TableConfig, laid: str) -> None:
    await finish(on, await started(on, config, laid), laid)


async def finish(on: Crashing, table: TableState, laid: str) -> None:
    await on.ask("anna", c.PlayerMove("anna", turn_of(table), c.Finish(Tile.parse(laid))))


async def draw(on: Crashing, config: TableConfig) -> None:
    """U11: the last tile is drawn, and nobody is finished."""
    table = await started(on, config, PLAIN, stock=(Tile.K2,))
    turn = turn_of(table)
    await on.ask("anna", c.PlayerMove("anna", turn, c.Discard(Tile.parse(PLAIN))))
    await on.ask("bert", c.PlayerMove("bert", turn + 1, c.Draw(c.DrawSource.STOCK)))
    await on.ask("bert", c.PlayerMove("bert", turn + 1, c.Discard(Tile.K2)))


def is_in(phase: Phase) -> Callable[[TableState], bool]:
    return lambda table: table.phase is phase


def has_paid(table: TableState, player: str) -> bool:
    return any(s.player == player and s.status is SeatStatus.PAID for s in table.seats)


def turn_of(table: TableState) -> int:
    assert table.round is not None
    assert table.round.turn is not None
    return table.round.turn.number

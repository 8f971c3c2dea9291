"""Views of a table for bots to choose from, built from the notation of tiles."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from okey.rules.tile import Tile, okey_of, parse_rack
from okey.rules.variant import BotLevel, Mode, Variant
from okey.table.config import TableConfig
from okey.table.legal import LegalAction
from okey.table.state import Phase, SeatStatus
from okey.table.view import Control, RoundView, SeatView, TableView, TurnView

L = LegalAction
DRAWING = (L.DRAW_STOCK, L.DRAW_DISCARD)
DISCARDING = (L.DISCARD, L.FINISH)


def view(
    rack: str | Sequence[Tile],
    legal: Iterable[LegalAction] | None = None,
    *,
    gosterge: str = "R7",
    takeable: str | None = None,
    announced: bool = False,
    piles: Sequence[str] = ("", ""),
    taken: Sequence[str] = (),
    viewer: int = 0,
    to_move: int | None = 0,
    variant: Variant = Variant.CANAK,
    mode: Mode = Mode.NORMAL,
    own_turns: int = 3,
    people: Sequence[int] = (),
    points: Sequence[int] = (),
    pot: int = 90,
    kasa: int = 0,
    is_tie_break: bool = False,
) -> TableView:
    """What seat ``viewer`` sees, the okey following from ``gosterge``; by default it may draw or
    discard. Every seat is a bot's but those of ``people``.
    """
    tiles = parse_rack(rack) if isinstance(rack, str) else tuple(rack)
    indicator = Tile.parse(gosterge)
    if legal is None:
        legal = DISCARDING if len(tiles) == 15 else DRAWING if takeable else DRAWING[:1]
    turn = None if to_move is None else TurnView(5, to_move, 60_000, len(tiles) == 15)
    played = RoundView(
        round_no=1,
        playing=tuple(range(len(piles))),
        dealer=1,
        starter=0,
        gosterge=indicator,
        okey=okey_of(indicator),
        stock_count=40,
        turn=turn,
        takeable=None if takeable is None else Tile.parse(takeable),
        is_tie_break=is_tie_break,
        rack=tiles,
        drawn=None,
        own_turns=own_turns,
    )
    seats = tuple(
        replace(
            seat(number, parse_rack(pile), announced and number == viewer),
            player=f"player-{number}" if number in people else "",
            points=points[number] if points else 0,
            taken=parse_rack(taken[number]) if taken else (),
        )
        for number, pile in enumerate(piles)
    )
    return TableView(
        config=TableConfig("t" * 26, variant=variant, mode=mode, seat_count=len(piles)),
        viewer=viewer,
        phase=Phase.PLAYING,
        match_id="t-1",
        match_no=1,
        kasa=kasa,
        pot=pot,
        commitment=b"",
        seats=seats,
        round=played,
        timers=(),
        legal_actions=tuple(legal),
        forfeit_price=0,
    )


def seat(number: int, pile: tuple[Tile, ...], has_announced: bool) -> SeatView:
    """A house seat with that pile."""
    return SeatView(
        seat=number,
        status=SeatStatus.PAID,
        control=Control.HOUSE,
        player="",
        bot_level=BotLevel.NORMAL,
        is_fill=False,
        away_deadline_ms=0,
        gave_up=False,
        points=0,
        rack_count=14,
        pile=pile,
        taken=(),
        has_announced_cift=has_announced,
        has_shown_gosterge=False,
        has_nonce=False,
    )

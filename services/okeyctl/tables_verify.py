"""``okeyctl verify``: rebuilds a finished round's deal and says what that proves (T9)."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from okey.api.common.v1 import common_pb2
from okey.api.engine.v1 import engine_pb2
from okey.api.events.v1 import events_pb2
from okey.errors import InvalidInput
from okey.rules.deal import Deal, DealContext, Deck, verify
from okey.rules.tile import Tile, okey_of
from okey_client import RpcFailure, TableClient
from services.okeyctl.reach import Reach
from services.okeyctl.tables import open_client

_NO_SUCH_ROUND: Final = "ROUND_NOT_FOUND"
_FROM_STOCK: Final = common_pb2.DRAW_SOURCE_STOCK


class Mismatch(Exception):
    """What was played is not what the seed gives; ``name`` says in one word what differs."""

    def __init__(self, name: str, why: str) -> None:
        super().__init__(f"{name}: {why}")
        self.name: Final = name


@dataclass(frozen=True, slots=True)
class PlayedRound:
    """A finished round as the engine publishes it, and the deal before it, None for the first."""

    table_id: str
    match_no: int
    round_no: int
    shown: engine_pb2.ListEventsResponse
    deal_before: events_pb2.RoundDealt | None


async def fetch_round(
    engine: Reach, table_id: str, match_no: int, round_no: int, invite: str = ""
) -> PlayedRound:
    """What there is to check.

    Raises:
        RpcFailure: there is no such round, or it is being played.
    """
    async with open_client(engine) as client:
        table = client.table(table_id, invite)
        shown = await table.finished_round(match_no, round_no)
        before = await _deal_before(table, match_no, round_no)
    return PlayedRound(table_id, match_no, round_no, shown, before)


def proofs(played: PlayedRound) -> Iterator[str]:
    """A line for each thing proved, in the order of the checks.

    Raises:
        Mismatch: the first thing that is not as the seed gives it.
    """
    dealt, ended = deal_of(played.shown), end_of(played.shown)
    deck = _rebuild(played, dealt, ended.revealed)
    yield f"commitment  {played.shown.commitment.hex()} is the SHA-256 of the published seed"
    nonces = sum(bool(nonce) for nonce in dealt.nonces)
    tiles = " + ".join(str(len(rack.tiles)) for rack in dealt.racks if rack.tiles)
    yield (
        f"deal        gösterge {deck.gosterge}, racks of {tiles} and a stock of "
        f"{len(dealt.stock)} follow from the seed and the nonces of {nonces} seats"
    )
    yield "dealer      " + _check_dealer(played, dealt, deck)
    yield "draws       " + _check_draws(played.shown, dealt)


def proof_as_json(proof: str) -> str:
    """A line of ``proofs`` for a program: what was checked, and what it shows."""
    check, _, shows = proof.partition(" ")
    return json.dumps(
        {"check": check, "is_right": True, "shows": shows.strip()}, ensure_ascii=False
    )


def mismatch_as_json(mismatch: Mismatch) -> str:
    """What differs, in the same form."""
    told = {"check": mismatch.name, "is_right": False, "shows": str(mismatch)}
    return json.dumps(told, ensure_ascii=False)


def deal_of(shown: engine_pb2.ListEventsResponse) -> events_pb2.RoundDealt:
    """The round's deal. Raises ``Mismatch`` where the round does not begin with one."""
    events = _events_of(shown)
    if not events or not events[0].HasField("round_dealt"):
        raise Mismatch("ROUND_INCOMPLETE", "the round does not begin with its deal")
    return events[0].round_dealt


def end_of(shown: engine_pb2.ListEventsResponse) -> events_pb2.RoundEnded:
    """The round's end. Raises ``Mismatch`` where the round does not end with one."""
    events = _events_of(shown)
    if not events or not events[-1].HasField("round_ended"):
        raise Mismatch("ROUND_INCOMPLETE", "the round does not end with its seed")
    return events[-1].round_ended


def _events_of(shown: engine_pb2.ListEventsResponse) -> list[events_pb2.Event]:
    return [event for row in shown.rows for event in row.events]


async def _deal_before(
    table: TableClient, match_no: int, round_no: int
) -> events_pb2.RoundDealt | None:
    """The table's last deal before the round; a match voided before its deal has none (W2).

    Where a table plays several matches, each is one round (Çanak).
    """
    if round_no > 1:
        return deal_of(await table.finished_round(match_no, round_no - 1))
    for earlier in range(match_no - 1, 0, -1):
        try:
            return deal_of(await table.finished_round(earlier, 1))
        except RpcFailure as failure:
            if failure.reason != _NO_SUCH_ROUND:
                raise
    return None


def _rebuild(played: PlayedRound, dealt: events_pb2.RoundDealt, seed: bytes) -> Deck:
    """T9: the commitment and every dealt tile against the seed; T4: the okey."""
    claimed = Deal(
        gosterge=_tile(dealt.gosterge),
        racks=tuple(_tiles(rack.tiles) for rack in dealt.racks),
        stock=_tiles(dealt.stock),
    )
    try:
        context = DealContext(
            played.table_id, played.match_no, played.round_no, tuple(dealt.nonces)
        )
        deck = verify(seed, played.shown.commitment, context, claimed)
    except InvalidInput as error:
        raise Mismatch(error.reason, str(error)) from error
    if _tile(dealt.okey) is not okey_of(deck.gosterge):
        raise Mismatch(
            "OKEY_MISMATCH",
            f"the okey of gösterge {deck.gosterge} is {okey_of(deck.gosterge)}, "
            f"played was {_tile(dealt.okey)} (T4)",
        )
    return deck


def _check_dealer(played: PlayedRound, dealt: events_pb2.RoundDealt, deck: Deck) -> str:
    """T8: the seed chooses the table's first dealer, later the next playing seat deals."""
    playing = [seat for seat, rack in enumerate(dealt.racks) if rack.tiles]
    if played.deal_before is None:
        dealer, why = deck.first_dealer, "chosen by the seed: it is the table's first deal"
    else:
        last = played.deal_before.dealer
        dealer, why = _seat_after(last, playing), f"the next playing seat after seat {last}"
    if dealt.dealer != dealer:
        raise Mismatch("DEALER_MISMATCH", f"seat {dealt.dealer} dealt; {dealer} is {why} (T8)")
    starter = _seat_after(dealer, playing)
    if dealt.starter != starter or len(dealt.racks[starter].tiles) != 15:
        raise Mismatch(
            "STARTER_MISMATCH",
            f"seat {dealt.starter} started; after the dealer, {dealer}, comes {starter} (T8)",
        )
    return f"seat {dealer} is {why}; seat {starter} starts"


def _check_draws(shown: engine_pb2.ListEventsResponse, dealt: events_pb2.RoundDealt) -> str:
    """U1: what was drawn from the stock is its top, tile after tile."""
    draws = [
        event.tile_drawn.tile
        for event in _events_of(shown)
        if event.HasField("tile_drawn") and event.tile_drawn.source == _FROM_STOCK
    ]
    for number, (drawn, top) in enumerate(zip(draws, dealt.stock, strict=False), start=1):
        if drawn != top:
            raise Mismatch(
                "DRAW_MISMATCH",
                f"draw {number} from the stock was {_tile(drawn)}, its top was {_tile(top)} (U1)",
            )
    if len(draws) > len(dealt.stock):
        raise Mismatch(
            "DRAW_MISMATCH", f"{len(draws)} draws from a stock of {len(dealt.stock)} (U11)"
        )
    return f"{len(draws)} from the stock, in its order"


def _seat_after(seat: int, playing: Sequence[int]) -> int:
    return next((each for each in playing if each > seat), playing[0])


def _tiles(tiles: Sequence[common_pb2.Tile.ValueType]) -> tuple[Tile, ...]:
    return tuple(map(_tile, tiles))


def _tile(tile: common_pb2.Tile.ValueType) -> Tile:
    try:
        return Tile(tile)
    except ValueError as error:
        raise Mismatch("TILE_HIDDEN", f"{tile} is shown in place of a tile") from error

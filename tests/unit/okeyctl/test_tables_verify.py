"""``okeyctl verify``: what a finished round proves, and what is said where it does not."""

import json
from collections.abc import Callable

import pytest

from okey.api.common.v1 import common_pb2
from okey.api.engine.v1 import engine_pb2
from okey.api.events.v1 import events_pb2
from okey.table import commands as c
from okey.table.public import REVEALED
from services.engine.finished_round import find_round
from services.engine.record import Row
from services.engine.wire import event_message
from services.okeyctl.tables_verify import (
    Mismatch,
    PlayedRound,
    deal_of,
    mismatch_as_json,
    proof_as_json,
    proofs,
)
from tests.factories import (
    PLAYERS,
    TABLE_ID,
    Driver,
    canak,
    klasik,
    shuffled,
)


def shown(table: Driver, match_no: int, round_no: int) -> engine_pb2.ListEventsResponse:
    """The round as the engine answers ListEvents."""
    rows = [Row(number, number, (event,)) for number, event in enumerate(table.events, start=1)]
    found = find_round(rows, match_no, round_no)
    return engine_pb2.ListEventsResponse(
        match_id=found.match_id,
        commitment=found.commitment,
        rows=[
            engine_pb2.RoundRow(seq=row.seq, events=[event_message(row.events[0], REVEALED)])
            for row in found.rows
        ],
    )


def first_round() -> PlayedRound:
    """The first round of a table, voided after five turns."""
    table = shuffled(canak(4), starter=2)
    for _ in range(5):
        table.pass_turn()
    table.do(c.VoidMatch("operator-7", "a test"))
    return PlayedRound(TABLE_ID, 1, 1, shown(table, 1, 1), None)


def second_round() -> PlayedRound:
    """The second round of a Klasik match, with a nonce."""
    table = shuffled(klasik(4))
    table.draw_round()
    table.do(c.AddNonce(PLAYERS[1], b"\x07" * 32))
    table.next_round()
    for _ in range(3):
        table.pass_turn()
    table.do(c.VoidMatch("operator-7", "a test"))
    return PlayedRound(TABLE_ID, 1, 2, shown(table, 1, 2), deal_of(shown(table, 1, 1)))


def test_a_tables_first_round_proves_its_dealer_too() -> None:
    """T9, T8, T7: commitment, every tile, the dealer that the seed chose, the draws."""
    played = first_round()
    commitment, deal, dealer, draws = proofs(played)
    assert played.shown.commitment.hex() in commitment
    assert "15 + 14" in deal
    assert "stock of 48" in deal
    assert "nonces of 0 seats" in deal
    assert "seat 1 is chosen by the seed" in dealer
    assert "seat 2 starts" in dealer
    assert "4 from the stock" in draws


def test_a_later_rounds_dealer_is_the_next_one() -> None:
    """T8, T9: after the one who dealt before; the nonce counts."""
    played = second_round()
    _, deal, dealer, draws = proofs(played)
    assert "nonces of 1 seats" in deal
    assert "seat 0 is the next playing seat after seat 3; seat 1 starts" in dealer
    assert "2 from the stock" in draws


def deal(played: PlayedRound) -> events_pb2.RoundDealt:
    return played.shown.rows[0].events[0].round_dealt


def other_seed(played: PlayedRound) -> None:
    played.shown.rows[-1].events[0].round_ended.revealed = b"\x01" * 32


def other_gosterge(played: PlayedRound) -> None:
    dealt = deal(played)
    dealt.gosterge, dealt.stock[0] = dealt.stock[0], dealt.gosterge


def other_okey(played: PlayedRound) -> None:
    deal(played).okey = deal(played).gosterge


def tiles_exchanged(played: PlayedRound) -> None:
    one, other = deal(played).racks[0].tiles, deal(played).racks[1].tiles
    one[3], other[3] = other[3], one[3]


def stock_exchanged(played: PlayedRound) -> None:
    stock = deal(played).stock
    stock[0], stock[-1] = stock[-1], stock[0]


def one_tile_hidden(played: PlayedRound) -> None:
    deal(played).racks[3].tiles[0] = common_pb2.TILE_UNSPECIFIED


def a_nonce_kept_back(played: PlayedRound) -> None:
    deal(played).nonces[0] = b"\x09" * 32


def a_short_nonce(played: PlayedRound) -> None:
    deal(played).nonces[0] = b"\x09"


def other_dealer(played: PlayedRound) -> None:
    deal(played).dealer = (deal(played).dealer + 2) % 4


def other_starter(played: PlayedRound) -> None:
    deal(played).starter = (deal(played).starter + 1) % 4


def drawn_out_of_order(played: PlayedRound) -> None:
    draws = [row.events[0].tile_drawn for row in played.shown.rows if has_draw(row)]
    draws[0].tile = next(each for each in deal(played).stock if each != draws[0].tile)


def has_draw(row: engine_pb2.RoundRow) -> bool:
    return row.events[0].HasField("tile_drawn")


def no_deal(played: PlayedRound) -> None:
    del played.shown.rows[0]


def no_end(played: PlayedRound) -> None:
    del played.shown.rows[-1]


def nothing(played: PlayedRound) -> None:
    del played.shown.rows[:]


@pytest.mark.parametrize("build", [first_round, second_round])
@pytest.mark.parametrize(
    ("tamper", "name"),
    [
        (other_seed, "COMMITMENT_MISMATCH"),
        (other_gosterge, "DEAL_MISMATCH"),
        (other_okey, "OKEY_MISMATCH"),
        (tiles_exchanged, "DEAL_MISMATCH"),
        (stock_exchanged, "DEAL_MISMATCH"),
        (one_tile_hidden, "TILE_HIDDEN"),
        (a_nonce_kept_back, "DEAL_MISMATCH"),
        (a_short_nonce, "MALFORMED_DEAL_CONTEXT"),
        (other_dealer, "DEALER_MISMATCH"),
        (other_starter, "STARTER_MISMATCH"),
        (drawn_out_of_order, "DRAW_MISMATCH"),
        (no_deal, "ROUND_INCOMPLETE"),
        (no_end, "ROUND_INCOMPLETE"),
        (nothing, "ROUND_INCOMPLETE"),
    ],
)
def test_what_was_not_played_as_dealt_is_named(
    build: Callable[[], PlayedRound], tamper: Callable[[PlayedRound], None], name: str
) -> None:
    """T9: whatever is changed afterwards, seed, tile, nonce, seat or draw."""
    played = build()
    tamper(played)
    with pytest.raises(Mismatch) as caught:
        list(proofs(played))
    assert caught.value.name == name
    assert str(caught.value).startswith(f"{name}: ")


@pytest.mark.parametrize(("match_no", "round_no"), [(2, 1), (1, 2)])
def test_a_deal_belongs_to_its_round(match_no: int, round_no: int) -> None:
    """T9: another round's number gives another deal."""
    played = first_round()
    with pytest.raises(Mismatch, match="DEAL_MISMATCH"):
        list(proofs(PlayedRound(TABLE_ID, match_no, round_no, played.shown, None)))


def test_a_proof_and_a_mismatch_as_json() -> None:
    proof = json.loads(proof_as_json("deal        gösterge R7"))
    assert proof == {"check": "deal", "is_right": True, "shows": "gösterge R7"}
    told = json.loads(mismatch_as_json(Mismatch("DEAL_MISMATCH", "the racks differ")))
    assert (told["check"], told["is_right"]) == ("DEAL_MISMATCH", False)

"""The deal: commitment, derivation, fairness and verification."""

import hmac
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from hashlib import sha256
from math import sqrt
from pathlib import Path

import pytest

from okey.rules.deal import (
    NONCE_BYTES,
    CommitmentMismatch,
    Deal,
    DealContext,
    DealMismatch,
    Deck,
    MalformedDealContext,
    MalformedSeating,
    MalformedSeed,
    commit,
    deal,
    shuffle,
    uniform_below,
    verify,
)
from okey.rules.tile import FULL_SET, NUMBER_TILES, Tile, rack_text

SEED = bytes(range(32))
TABLE = "abcdefghijklmnopqrstuvwxyz"
TWO = DealContext(TABLE, 1, 1, (b"", b""))
FOUR = DealContext(TABLE, 3, 2, (b"\x11" * 32, b"", b"\x22" * 32, b"\x33" * 32))
BOOK = (Path(__file__).parents[3] / "docs" / "fairness.md").read_text("utf-8")


def without_spaces(text: str) -> str:
    return "".join(text.split())


# --- commitment and context


def test_commitment_is_the_sha256_of_the_seed() -> None:
    """T9: the vector of docs/fairness.md."""
    expected = "630dcd2966c4336691125448bbb25b4ff412a49c732db2c8abc1b8581bd710dd"
    assert commit(SEED).hex() == expected
    assert expected in BOOK


@pytest.mark.parametrize("length", [0, 16, 31, 33])
def test_a_seed_has_32_bytes(length: int) -> None:
    """T9: 256 bits, for the commitment and for the shuffle."""
    with pytest.raises(MalformedSeed, match=f"has {length} bytes"):
        commit(bytes(length))
    with pytest.raises(MalformedSeed, match=f"has {length} bytes"):
        shuffle(bytes(length), TWO)


@pytest.mark.parametrize(
    ("change", "named"),
    [
        (lambda: replace(TWO, table_id=""), "table_id is empty"),
        (lambda: replace(TWO, match_no=-1), "match_no is -1"),
        (lambda: replace(TWO, round_no=-2), "round_no is -2"),
        (lambda: replace(TWO, nonces=()), "0 nonces"),
        (lambda: replace(TWO, nonces=(b"",) * 3), "3 nonces"),
        (lambda: replace(TWO, nonces=(b"", b"x" * 31)), "seat 1 has 31 bytes"),
        (lambda: replace(TWO, nonces=(b"x" * 33, b"")), "seat 0 has 33 bytes"),
    ],
)
def test_a_malformed_context_is_named(change: Callable[[], DealContext], named: str) -> None:
    """T9: nothing is derived from half a context."""
    with pytest.raises(MalformedDealContext, match=named):
        change()


def test_every_field_stands_after_its_length() -> None:
    """T9: the messages of docs/fairness.md, byte by byte."""
    head = "0000000b6f6b65792d6465616c2d310000001a" + TABLE.encode().hex()
    silent, spoken = "00000000", "00000020"
    assert TWO.message().hex() == head + "0000000131" * 2 + silent * 2
    assert FOUR.message().hex() == (
        head + "0000000133" + "0000000132" + spoken + "11" * 32 + silent
        + spoken + "22" * 32 + spoken + "33" * 32
    )  # fmt: skip
    assert TWO.message().hex() in without_spaces(BOOK)
    assert FOUR.message().hex().removeprefix(head) in without_spaces(BOOK)


# --- shuffle


@pytest.mark.parametrize(
    ("context", "first_dealer", "gosterge", "digest"),
    [
        (TWO, 1, Tile.B9, "ad93430bcaf79d6fedce818cfa6404ed6b3020d55d801e189984b83f21b9e71d"),
        (FOUR, 0, Tile.R2, "f5224be17986d4a8d1c7331f406d8e3270ac867b56989c28a6f5cf76c47bd2cd"),
    ],
)
def test_shuffle_of_the_vectors(
    context: DealContext, first_dealer: int, gosterge: Tile, digest: str
) -> None:
    """T2, T3, T8, T9: fixed for ever, and what docs/fairness.md prints."""
    deck = shuffle(SEED, context)
    assert (deck.first_dealer, deck.gosterge) == (first_dealer, gosterge)
    assert sha256(rack_text(deck.tiles).encode()).hexdigest() == digest
    assert rack_text(deck.tiles) in " ".join(BOOK.split())
    block = hmac.digest(SEED, context.message() + bytes(8), "sha256")
    assert block.hex() in BOOK


@pytest.mark.parametrize(
    "other",
    [
        replace(FOUR, table_id=TABLE[::-1]),
        replace(FOUR, match_no=4),
        replace(FOUR, round_no=3),
        replace(FOUR, nonces=(b"\x11" * 32, b"\x44" * 32, b"\x22" * 32, b"\x33" * 32)),
        replace(FOUR, nonces=(b"", b"\x11" * 32, b"\x22" * 32, b"\x33" * 32)),
        replace(FOUR, nonces=FOUR.nonces[::-1]),
    ],
)
def test_everything_in_the_context_changes_the_deal(other: DealContext) -> None:
    """T2, T9: the round, each nonce and whose nonce it is."""
    assert shuffle(SEED, other).tiles != shuffle(SEED, FOUR).tiles


def test_every_bit_of_the_seed_counts() -> None:
    """T9: so 256 bits are needed to know the deal."""
    decks = {shuffle(SEED, TWO).tiles}
    for bit in range(256):
        flipped = int.from_bytes(SEED, "big") ^ 1 << bit
        decks.add(shuffle(flipped.to_bytes(32, "big"), TWO).tiles)
    assert len(decks) == 257


def test_gosterge_comes_from_the_set_and_leaves_it() -> None:
    """T1, T3: 106 tiles with it, 105 to draw, and it is never a sahte okey."""
    for deck in decks(200):
        assert deck.gosterge in NUMBER_TILES
        assert sorted((*deck.tiles, deck.gosterge)) == sorted(FULL_SET)


def test_words_beyond_the_last_whole_multiple_are_passed_over() -> None:
    """T9: else the low numbers would come more often."""
    top = 2**32
    assert uniform_below(3, iter([top - 1, 5])) == 2  # 2**32 = 3 * 1431655765 + 1
    assert uniform_below(3, iter([top - 2])) == 2
    assert uniform_below(104, iter([top - top % 104, top - 1, 105])) == 1
    assert uniform_below(4, iter([top - 1])) == 3


# --- uniformity


def decks(count: int, seats: int = 4) -> Iterator[Deck]:
    """The decks of seeds 0, 1, 2, ...: the same every time."""
    for number in range(count):
        yield shuffle(number.to_bytes(32, "big"), DealContext(TABLE, 1, 1, (b"",) * seats))


def chi_square(observed: Counter[int], expected: dict[int, float]) -> float:
    return sum((observed[cell] - mean) ** 2 / mean for cell, mean in expected.items())


def is_plausible(statistic: float, freedom: int) -> bool:
    """Within five standard deviations of the mean, to either side."""
    return abs(statistic - freedom) < 5 * sqrt(2 * freedom)


def order_statistic(orders: Iterable[tuple[Tile, ...]]) -> float:
    """Chi-square of which kind of tile lies at which place, over all places."""
    places = [Counter(map(int, column)) for column in zip(*orders, strict=True)]
    count = places[0].total()
    # Of each number 2 copies less its chance to be the gösterge, among 105 tiles.
    expected = {int(tile): count * (2 - 1 / 52) / 105 for tile in NUMBER_TILES}
    expected[int(Tile.S)] = count * 2 / 105
    return sum(chi_square(observed, expected) for observed in places)


def test_every_tile_is_as_likely_at_every_place() -> None:
    """T2, T9: chi-square over 105 places and 53 kinds."""
    statistic = order_statistic(deck.tiles for deck in decks(1_000))
    assert is_plausible(statistic, freedom=105 * 52)


def test_the_uniformity_test_finds_a_biased_shuffle() -> None:
    """T9: exchanging every place with any place is the well-known wrong shuffle."""
    orders = []
    for number in range(1_000):
        digests = (sha256(f"{number} {place}".encode()).digest() for place in range(105))
        tiles = list(FULL_SET[:105])
        for place, digest in enumerate(digests):
            other = int.from_bytes(digest, "big") % 105
            tiles[place], tiles[other] = tiles[other], tiles[place]
        orders.append(tuple(tiles))
    assert not is_plausible(order_statistic(orders), freedom=105 * 52)


@pytest.mark.parametrize("seats", [2, 4])
def test_every_seat_is_as_likely_to_deal_first(seats: int) -> None:
    """T8: the first dealer comes from the seed."""
    observed = Counter(deck.first_dealer for deck in decks(2_000, seats))
    assert set(observed) == set(range(seats))
    expected = dict.fromkeys(range(seats), 2_000 / seats)
    assert is_plausible(chi_square(observed, expected), freedom=seats - 1)


def test_every_number_tile_is_as_likely_to_be_the_gosterge() -> None:
    """T3: chi-square over the 52 kinds."""
    observed = Counter(int(deck.gosterge) for deck in decks(2_000))
    expected = {int(tile): 2_000 / 52 for tile in NUMBER_TILES}
    assert is_plausible(chi_square(observed, expected), freedom=51)


# --- deal


@pytest.mark.parametrize(
    ("context", "playing", "stock"),
    [(TWO, (0, 1), 76), (FOUR, (0, 1), 76), (FOUR, (0, 2, 3), 62), (FOUR, (0, 1, 2, 3), 48)],
)
def test_starter_gets_fifteen_the_others_fourteen(
    context: DealContext, playing: tuple[int, ...], stock: int
) -> None:
    """T7: and the stock has 76, 62 or 48 tiles; a seat that does not play gets none."""
    deck = shuffle(SEED, context)
    for starter in playing:
        dealt = deal(deck, playing, starter)
        sizes = [len(rack) for rack in dealt.racks]
        expected = [14 * (seat in playing) + (seat == starter) for seat in range(deck.seat_count)]
        assert sizes == expected
        assert len(dealt.stock) == stock
        assert dealt.gosterge is deck.gosterge


def test_no_tile_is_lost_or_doubled_by_the_deal() -> None:
    """T1, T7: racks, stock and gösterge are the set."""
    dealt = deal(shuffle(SEED, FOUR), (0, 1, 2, 3), starter=2)
    everything = [dealt.gosterge, *dealt.stock, *(tile for rack in dealt.racks for tile in rack)]
    assert sorted(everything) == sorted(FULL_SET)


def test_tiles_go_round_from_the_starter_and_the_fifteenth_is_last() -> None:
    """T7, U2: one at a time in playing order; the 15th dealt lies last in the starter's rack."""
    deck = shuffle(SEED, FOUR)
    dealt = deal(deck, (0, 2, 3), starter=2)
    assert dealt.racks[2] == (*deck.tiles[0:42:3], deck.tiles[42])
    assert dealt.racks[3] == deck.tiles[1:42:3]
    assert dealt.racks[0] == deck.tiles[2:42:3]
    assert dealt.racks[1] == ()
    assert dealt.stock == deck.tiles[43:]


@pytest.mark.parametrize(
    ("playing", "starter", "named"),
    [
        ((), 0, "playing seats"),
        ((1,), 1, "playing seats"),
        ((1, 0), 1, "ascending"),
        ((0, 0), 0, "ascending"),
        ((0, 4), 0, r"0\.\.3"),
        ((-1, 0), 0, r"0\.\.3"),
        ((0, 2), 1, "starter 1"),
    ],
)
def test_impossible_seating_is_named(playing: tuple[int, ...], starter: int, named: str) -> None:
    """T7: at least two seats of the table, and the starter one of them."""
    with pytest.raises(MalformedSeating, match=named):
        deal(shuffle(SEED, FOUR), playing, starter)


# --- verification

PLAYED = deal(shuffle(SEED, FOUR), (0, 2, 3), starter=2)


def test_an_honest_round_verifies() -> None:
    """T9: after the round anyone rebuilds the deal from the published seed."""
    assert verify(SEED, commit(SEED), FOUR, PLAYED) == shuffle(SEED, FOUR)


def test_another_seed_than_committed_is_found() -> None:
    """T9: the commitment binds before the stakes."""
    other = bytes(32)
    with pytest.raises(CommitmentMismatch, match=commit(SEED).hex()):
        verify(other, commit(SEED), FOUR, deal(shuffle(other, FOUR), (0, 2, 3), starter=2))


@pytest.mark.parametrize(
    ("claimed", "part"),
    [
        (replace(PLAYED, gosterge=Tile.R3), "gosterge"),
        (replace(PLAYED, stock=PLAYED.stock[::-1]), "stock"),
        (replace(PLAYED, racks=(*PLAYED.racks[:3], PLAYED.racks[3][::-1])), "racks"),
    ],
)
def test_another_deal_than_derived_is_found(claimed: Deal, part: str) -> None:
    """T9: the error names what differs."""
    with pytest.raises(DealMismatch, match=f"the {part} derived"):
        verify(SEED, commit(SEED), FOUR, claimed)


def test_a_dropped_or_added_nonce_is_found() -> None:
    """T9: each player sees whether its own nonce went in."""
    assert NONCE_BYTES == 32
    for nonces in ((b"",) * 4, (*FOUR.nonces[:1], b"\x55" * 32, *FOUR.nonces[2:])):
        with pytest.raises(DealMismatch):
            verify(SEED, commit(SEED), replace(FOUR, nonces=nonces), PLAYED)


def test_a_claim_without_players_is_no_round() -> None:
    """T7, T9: an empty deal is not taken for an honest one."""
    with pytest.raises(MalformedSeating):
        verify(SEED, commit(SEED), FOUR, replace(PLAYED, racks=((),) * 4))

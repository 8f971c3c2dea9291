"""The deal: a documented function of a seed and its context, which anyone can rebuild (T2..T9).

``docs/fairness.md`` says it byte by byte. Version 1, in short: HMAC-SHA-256 under the seed over the
context and a counter is a stream of 32-bit words; words give uniform integers by rejection; these
shuffle the 106 tiles (Fisher-Yates), then choose the first dealer and the gösterge.
"""

import hmac
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import sha256
from typing import Final

from okey.errors import InvalidInput
from okey.rules.faces import HAND_TILES
from okey.rules.tile import FULL_SET, NUMBER_TILES, Tile

DERIVATION_VERSION: Final = "okey-deal-1"
SEED_BYTES: Final = 32
NONCE_BYTES: Final = 32
TABLE_SEATS: Final = (2, 4)

_WORD_BYTES: Final = 4
_WORDS: Final = 1 << 8 * _WORD_BYTES


class MalformedSeed(InvalidInput):
    """A seed of another length than 32 bytes (T9)."""

    reason = "MALFORMED_SEED"


class MalformedDealContext(InvalidInput):
    """A context from which no deal is derived: seats, numbers, table or a nonce are wrong (T9)."""

    reason = "MALFORMED_DEAL_CONTEXT"


class MalformedSeating(InvalidInput):
    """Playing seats or a starter that no round can have (T7)."""

    reason = "MALFORMED_SEATING"


class CommitmentMismatch(InvalidInput):
    """The published seed is not the one that was committed to (T9)."""

    reason = "COMMITMENT_MISMATCH"


class DealMismatch(InvalidInput):
    """The seed and its context give another deal than the one that was played (T9)."""

    reason = "DEAL_MISMATCH"


@dataclass(frozen=True, slots=True)
class DealContext:
    """What a deal depends on besides its seed: the round, and one nonce per table seat in order.

    A nonce is 32 bytes, or empty for a silent seat. Raises ``MalformedDealContext``.
    """

    table_id: str
    match_no: int
    round_no: int
    nonces: tuple[bytes, ...]

    def __post_init__(self) -> None:
        if not self.table_id:
            raise MalformedDealContext("table_id is empty: a deal belongs to a table (T9)")
        for name in ("match_no", "round_no"):
            if getattr(self, name) < 0:
                raise MalformedDealContext(f"{name} is {getattr(self, name)}: count upwards (T9)")
        if len(self.nonces) not in TABLE_SEATS:
            raise MalformedDealContext(
                f"{len(self.nonces)} nonces: give one for each of the 2 or 4 table seats (T9)"
            )
        for seat, nonce in enumerate(self.nonces):
            if len(nonce) not in (0, NONCE_BYTES):
                raise MalformedDealContext(
                    f"the nonce of seat {seat} has {len(nonce)} bytes: give {NONCE_BYTES}, "
                    "or none for a silent seat (T9)"
                )

    def message(self) -> bytes:
        """The bytes that go into every block of the stream, each field after its length."""
        texts = (DERIVATION_VERSION, self.table_id, str(self.match_no), str(self.round_no))
        fields = (*(text.encode() for text in texts), *self.nonces)
        return b"".join(len(part).to_bytes(4, "big") + part for part in fields)


@dataclass(frozen=True, slots=True)
class Deck:
    """A shuffled set: the gösterge, and the 105 other tiles in the order in which they are drawn.

    ``first_dealer`` is the table seat that deals the table's first round; later ones follow T8.
    """

    first_dealer: int
    gosterge: Tile
    tiles: tuple[Tile, ...]
    seat_count: int


@dataclass(frozen=True, slots=True)
class Deal:
    """A dealt round: one rack per table seat (empty where a seat does not play) and the stock.

    The starter's rack has 15 tiles, and the last of them is the 15th dealt (U2, U6). The stock is
    in drawing order.
    """

    gosterge: Tile
    racks: tuple[tuple[Tile, ...], ...]
    stock: tuple[Tile, ...]


def commit(seed: bytes) -> bytes:
    """The commitment to ``seed``, its SHA-256, published before stakes are paid (T9).

    Raises ``MalformedSeed``.
    """
    if len(seed) != SEED_BYTES:
        raise MalformedSeed(f"the seed has {len(seed)} bytes: give {SEED_BYTES} random ones (T9)")
    return sha256(seed).digest()


def shuffle(seed: bytes, context: DealContext) -> Deck:
    """The deck that ``seed`` and ``context`` give (T2, T3, T9). Raises ``MalformedSeed``."""
    commit(seed)
    words = _words(seed, context.message())
    tiles = list(FULL_SET)
    for last in range(len(tiles) - 1, 0, -1):
        chosen = uniform_below(last + 1, words)
        tiles[last], tiles[chosen] = tiles[chosen], tiles[last]
    first_dealer = uniform_below(len(context.nonces), words)
    number_places = [place for place, tile in enumerate(tiles) if tile.is_number_tile]
    gosterge = tiles.pop(number_places[uniform_below(2 * len(NUMBER_TILES), words)])
    return Deck(first_dealer, gosterge, tuple(tiles), len(context.nonces))


def deal(deck: Deck, playing_seats: tuple[int, ...], starter: int) -> Deal:
    """Deals 14 tiles to each playing seat and a 15th to the starter (T7).

    One tile at a time goes round from the starter in playing order, fourteen times; then the
    starter takes the 15th. Raises ``MalformedSeating``.
    """
    _require_seating(deck, playing_seats, starter)
    place = playing_seats.index(starter)
    order = playing_seats[place:] + playing_seats[:place]
    dealt = HAND_TILES * len(order)
    racks = {seat: deck.tiles[turn : dealt : len(order)] for turn, seat in enumerate(order)}
    racks[starter] += deck.tiles[dealt : dealt + 1]
    return Deal(
        gosterge=deck.gosterge,
        racks=tuple(racks.get(seat, ()) for seat in range(deck.seat_count)),
        stock=deck.tiles[dealt + 1 :],
    )


def stock_count(playing_count: int) -> int:
    """How many tiles the stock has after a deal to so many seats (T7)."""
    return len(FULL_SET) - 1 - HAND_TILES * playing_count - 1


def verify(seed: bytes, commitment: bytes, context: DealContext, claimed: Deal) -> Deck:
    """Checks a round that is over against its published seed (T9); returns the deck it came from.

    The caller compares ``first_dealer`` of the table's first round with the seat that dealt it.
    Raises ``MalformedSeed``, ``CommitmentMismatch``, ``DealMismatch`` (which names the first part
    that differs), or ``MalformedSeating`` for a claim that no round can be.
    """
    if commit(seed) != commitment:
        raise CommitmentMismatch(
            f"SHA-256 of the seed is {commit(seed).hex()}, committed was {commitment.hex()} (T9)"
        )
    deck = shuffle(seed, context)
    playing_seats = tuple(seat for seat, rack in enumerate(claimed.racks) if rack)
    starter = max(playing_seats, key=lambda seat: len(claimed.racks[seat]), default=-1)
    derived = deal(deck, playing_seats, starter)
    for part in ("gosterge", "racks", "stock"):
        if getattr(derived, part) != getattr(claimed, part):
            raise DealMismatch(f"the {part} derived from the seed is not the one played (T9)")
    return deck


def uniform_below(bound: int, words: Iterator[int]) -> int:
    """A uniform integer of 0..``bound`` - 1 from 32-bit ``words`` (T9).

    Words from the last whole multiple of ``bound`` on are passed over, so that no number is
    likelier than another.
    """
    limit = _WORDS - _WORDS % bound
    return next(word for word in words if word < limit) % bound


def _require_seating(deck: Deck, playing_seats: tuple[int, ...], starter: int) -> None:
    in_order = playing_seats == tuple(sorted(set(playing_seats)))
    if (
        not in_order
        or len(playing_seats) < 2
        or not set(playing_seats) <= set(range(deck.seat_count))
    ):
        raise MalformedSeating(
            f"playing seats {playing_seats}: name two or more of the table's seats "
            f"0..{deck.seat_count - 1} in ascending order (T7)"
        )
    if starter not in playing_seats:
        raise MalformedSeating(f"the starter {starter} is none of the seats {playing_seats} (T8)")


def _words(seed: bytes, message: bytes) -> Iterator[int]:
    """The stream: block by block, eight big-endian words of 32 bits each."""
    block = 0
    while True:
        digest = hmac.digest(seed, message + block.to_bytes(8, "big"), "sha256")
        for start in range(0, len(digest), _WORD_BYTES):
            yield int.from_bytes(digest[start : start + _WORD_BYTES], "big")
        block += 1

"""What a finish is worth, or why it is none (H7, H8, H9, H12, H13)."""

from collections.abc import Sequence
from enum import IntEnum

from okey.errors import Refused
from okey.rules.distance import distance_to_cift, distance_to_normal
from okey.rules.faces import HAND_TILES
from okey.rules.hand import Form, classify
from okey.rules.tile import Tile, without


class FinishKind(IntEnum):
    """How a round was won: with or without an okey laid, with or without an announced çift.

    The numbers are those of ``okey.api.common.v1.FinishKind``.
    """

    NORMAL = 1
    OKEY = 2
    CIFT = 3
    CIFT_OKEY = 4


class MustHoldFifteen(Refused):
    """A finish with another number of tiles than 15: draw first (H7)."""

    reason = "MUST_HOLD_FIFTEEN"


class LaidTileNotHeld(Refused):
    """The tile to be laid on the gösterge is not among the 15 (H7)."""

    reason = "LAID_TILE_NOT_HELD"


class FinishRejected(Refused):
    """The other 14 may not finish now (H8, H12); nothing changes and it costs nothing."""

    reason = "FINISH_REJECTED"


def judge_finish(rack: Sequence[Tile], laid: Tile, okey: Tile, *, announced: bool) -> FinishKind:
    """How the holder of 15 tiles finishes by laying one on the gösterge; the other 14 are judged.

    ``announced`` says whether the holder's own announcement of çift stands: then only seven pairs
    are accepted (H12). Without one, seven pairs are worth a normal finish (H13). It is an okey win
    only if the tile laid is a real okey (H9).

    Raises ``MustHoldFifteen`` and ``LaidTileNotHeld`` (H7), ``FinishRejected`` (H8, H12).
    """
    if len(rack) != HAND_TILES + 1:
        raise MustHoldFifteen(
            f"a finish needs 15 tiles, this rack has {len(rack)}: draw first (H7)"
        )
    if laid not in rack:
        raise LaidTileNotHeld(f"{laid} is not in the rack: lay one of its 15 tiles (H7)")
    hand = without(rack, (laid,))
    forms = classify(hand, okey)
    if announced:
        if Form.CIFT not in forms:
            raise FinishRejected(
                f"without {laid} the hand is {distance_to_cift(hand, okey)} from seven pairs, and "
                "the announced çift binds: make seven pairs or withdraw it (H12)"
            )
        return FinishKind.CIFT_OKEY if laid == okey else FinishKind.CIFT
    if not forms:
        raise FinishRejected(
            f"without {laid} the hand is {distance_to_normal(hand, okey)} from runs and groups and "
            f"{distance_to_cift(hand, okey)} from seven pairs: discard and play on (H8)"
        )
    return FinishKind.OKEY if laid == okey else FinishKind.NORMAL

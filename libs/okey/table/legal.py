"""What a seat may do now, so that frontends and bots need no rules of their own."""

from enum import IntEnum


class LegalAction(IntEnum):
    """One thing the viewer may do now; FINISH says that a try is allowed, not that the hand is right (H8)."""

    DRAW_STOCK = 1
    DRAW_DISCARD = 2
    DISCARD = 3
    FINISH = 4
    ANNOUNCE_CIFT = 5
    WITHDRAW_CIFT = 6
    SHOW_GOSTERGE = 7
    TAKE_SEAT = 8
    LEAVE = 9
    PLAY_ON = 10
    ADD_NONCE = 11
    FORFEIT = 12
    RETURN_TO_SEAT = 13

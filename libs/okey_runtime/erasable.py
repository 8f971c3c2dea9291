"""Whose id may be closed for good: only one that somebody has seen.

There is no way back, so a slip of the pen must not close the id of somebody who comes tomorrow.
"""

from okey.errors import NotFound


class PlayerUnknown(NotFound):
    """Nobody has ever seen the id here."""

    reason = "PLAYER_UNKNOWN"


def refuse_unknown(player_id: str, *, is_known: bool, is_allowed: bool) -> None:
    """Return if the id was seen, or need not have been. Raises ``PlayerUnknown``."""
    if not (is_known or is_allowed):
        raise PlayerUnknown(
            f"nobody has seen a player {player_id!r} here: look at the id again; one that was "
            "never seen is closed only with allow_unknown (okeyctl: --unknown)"
        )

"""Whose id may be closed for good: a player's, and only one that somebody has seen.

There is no way back, so a slip of the pen must not close the id of somebody who comes tomorrow.
"""

from okey.errors import InvalidInput, NotFound
from okey_runtime.identity import is_reserved


class PlayerReserved(InvalidInput):
    """The id is the house's or a service's, which is no player and has no data to erase."""

    reason = "PLAYER_RESERVED"


class PlayerUnknown(NotFound):
    """Nobody has ever seen the id here."""

    reason = "PLAYER_UNKNOWN"


def refuse_reserved(player_id: str) -> None:
    """Return if the id can be a player's. Raises ``PlayerReserved``."""
    if is_reserved(player_id):
        raise PlayerReserved(
            f"{player_id} is the house's or a service's: only a player's id can be erased"
        )


def refuse_unknown(player_id: str, *, is_known: bool, is_allowed: bool) -> None:
    """Return if the id was seen, or need not have been. Raises ``PlayerUnknown``."""
    if not (is_known or is_allowed):
        raise PlayerUnknown(
            f"nobody has seen a player {player_id!r} here: look at the id again; one that was "
            "never seen is closed only with allow_unknown (okeyctl: --unknown)"
        )

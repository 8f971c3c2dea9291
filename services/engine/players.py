"""What is kept of a player beside its seats, and closing an id for good.

A closed id holds a seat at no table, for ever: the key that lets a player sit once (W3) then lets
it sit never, whoever asks and at whichever engine.
"""

from dataclasses import dataclass
from typing import Final

from sqlalchemy import Connection, delete, select

from okey.errors import OkeyError, Refused
from okey_runtime.database import Database, Isolation
from okey_runtime.erasable import refuse_unknown
from services.engine.appending import SitsElsewhere
from services.engine.errors import SeatedElsewhere
from services.engine.schema import players, seated
from services.engine.set_based import insert_new

NOWHERE: Final = "closed"
"""Where a closed id sits; no table has such an id."""


class PlayerClosed(Refused):
    """The player's id was closed for good; it gets no seat any more."""

    reason = "PLAYER_CLOSED"


class PlayerSeated(Refused):
    """The player has a seat; when it has left, ask again."""

    reason = "PLAYER_SEATED"


@dataclass(frozen=True, slots=True)
class Kept:
    """A player's display name and table, each "" for none."""

    display_name: str
    table_id: str
    is_closed: bool
    is_known: bool


class Players:
    """All methods raise ``DatabaseAway`` and ``DatabaseBusy``."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def find(self, player: str) -> Kept:
        """What is kept of the player."""

        def read(connection: Connection) -> Kept:
            name = select(players.c.display_name).where(players.c.player == player)
            table_id = _seat(connection, player)
            is_closed = table_id == NOWHERE
            display_name = connection.execute(name).scalar()
            is_known = display_name is not None or bool(table_id)
            return Kept(display_name or "", "" if is_closed else table_id, is_closed, is_known)

        return await self._database.read(read)

    async def close(self, player: str, *, allow_unknown: bool = False) -> bool:
        """Close the id for good and forget its name, also in the database's files; whether it was
        open.

        Raises ``PlayerSeated``, ``PlayerUnknown``.
        """

        def work(connection: Connection) -> bool:
            name = select(players.c.player).where(players.c.player == player)
            is_known = bool(_seat(connection, player) or connection.execute(name).scalar())
            refuse_unknown(player, is_known=is_known, is_allowed=allow_unknown)
            row = {"player": player, "table_id": NOWHERE}
            is_new = bool(insert_new(connection, seated, [row]))
            table_id = _seat(connection, player)
            if table_id != NOWHERE:
                raise PlayerSeated(
                    f"{player} sits at table {table_id}: it has to leave first, or its match to end"
                )
            connection.execute(delete(players).where(players.c.player == player))
            return is_new

        was_open = await self._database.transact(work, Isolation.READ_COMMITTED)
        await self._database.scrub()
        return was_open


def refuse_closed(player: str, table_id: str) -> None:
    """Return unless a player that sits there has a closed id. Raises ``PlayerClosed``."""
    if table_id == NOWHERE:
        raise PlayerClosed(f"the id {player} is closed for good: it gets no seat any more")


def no_seat_for(verdict: SitsElsewhere) -> OkeyError:
    """Why the player cannot sit down."""
    try:
        refuse_closed(verdict.player, verdict.table_id)
    except PlayerClosed as closed:
        return closed
    return SeatedElsewhere(verdict.player, verdict.table_id)


def _seat(connection: Connection, player: str) -> str:
    found = select(seated.c.table_id).where(seated.c.player == player)
    return connection.execute(found).scalar() or ""

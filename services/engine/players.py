"""What is kept of a player beside its seats, and closing an id for good.

A closed id holds a seat at no table, for ever: the key that lets a player sit once (W3) then lets
it sit never, whoever asks and at whichever engine.
"""

from dataclasses import dataclass
from typing import Final

from sqlalchemy import Connection, delete, select

from okey.errors import OkeyError, Refused
from okey_runtime.database import Database, Isolation
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
            display_name = connection.execute(name).scalar() or ""
            return Kept(display_name, "" if is_closed else table_id, is_closed)

        return await self._database.read(read)

    async def close(self, player: str) -> bool:
        """Close the id for good and forget its name; whether it was open.

        Raises ``PlayerSeated``.
        """

        def work(connection: Connection) -> bool:
            row = {"player": player, "table_id": NOWHERE}
            is_new = bool(insert_new(connection, seated, [row]))
            table_id = _seat(connection, player)
            if table_id != NOWHERE:
                raise PlayerSeated(
                    f"{player} sits at table {table_id}: it has to leave first, or its match to end"
                )
            connection.execute(delete(players).where(players.c.player == player))
            return is_new

        return await self._database.transact(work, Isolation.READ_COMMITTED)


def no_seat_for(verdict: SitsElsewhere) -> OkeyError:
    """Why the player cannot sit down."""
    if verdict.table_id == NOWHERE:
        return PlayerClosed(f"the id {verdict.player} is closed for good: it gets no seat any more")
    return SeatedElsewhere(verdict.player, verdict.table_id)


def _seat(connection: Connection, player: str) -> str:
    found = select(seated.c.table_id).where(seated.c.player == player)
    return connection.execute(found).scalar() or ""

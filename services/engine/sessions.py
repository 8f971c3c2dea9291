"""A single session a player, where the platform is set so: a newer one ends the older one's tokens.

A session is what a token's ``sid`` says; a token without one is a session of its own. A player who
opens a stream of a table with a token of another session, issued later than the newest one that was
seen, revokes all tokens issued before it. So it is one more entry of the list that every service
follows.
"""

from collections import OrderedDict
from typing import Final

from sqlalchemy import Connection, delete, select

from okey.errors import Exhausted, Unavailable
from okey_runtime.clock import Clock
from okey_runtime.database import Database, Isolation
from okey_runtime.identity import Identity
from okey_runtime.logging import get_logger
from okey_runtime.revocation import Revocation, Revocations, SessionReplaced
from services.engine.revocations import TokenLife, note
from services.engine.schema import sessions
from services.engine.set_based import insert_new, put

_KEPT: Final = 20_000
_FORGET_EVERY_MS: Final = 60_000

_log = get_logger(__name__)


class Sessions:
    """Notes each player's newest session; ``enter`` costs a transaction for each new token."""

    def __init__(
        self, database: Database, known: Revocations, life: TokenLife, clock: Clock
    ) -> None:
        self._database = database
        self._known = known
        self._life = life
        self._clock = clock
        self._entered: OrderedDict[str, tuple[str, int]] = OrderedDict()
        self._forgot_ms = clock.monotonic_ms()

    async def enter(self, identity: Identity) -> None:
        """Note that the player has come with this token.

        A database that is away keeps nobody from playing: then nothing is noted.

        Raises:
            SessionReplaced: the player has a newer session.
        """
        if not identity.player:
            return
        mine = (_session(identity), identity.issued_ms)
        if self._entered.get(identity.player) == mine:
            return
        try:
            replaced = await self._database.transact(
                lambda connection: self._enter(connection, identity), Isolation.READ_COMMITTED
            )
            await self._forget()
        except (Unavailable, Exhausted) as error:
            _log.warning("session_not_noted", player_id=identity.player, error=str(error))
            return
        if replaced is not None:
            self._known.take([replaced])
        self._entered[identity.player] = mine
        self._entered.move_to_end(identity.player)
        if len(self._entered) > _KEPT:
            self._entered.popitem(last=False)

    def _enter(self, connection: Connection, identity: Identity) -> Revocation | None:
        """The entry that ends the session before, if there was one."""
        row = {
            "player": identity.player,
            "session": _session(identity),
            "issued_ms": identity.issued_ms,
            "until_ms": self._life.until_ms(identity.issued_ms),
        }
        # Insert first: of two that come at once, the second waits here and then finds the first.
        if insert_new(connection, sessions, [row]):
            return None
        held = select(sessions).where(sessions.c.player == identity.player).with_for_update()
        before = connection.execute(held).one()
        is_over = before.until_ms <= self._clock.now_ms()
        is_same = before.session == row["session"]
        if not is_over and identity.issued_ms <= before.issued_ms:
            if is_same or identity.issued_ms == before.issued_ms:
                return None
            raise SessionReplaced("you have signed in elsewhere since; one session is allowed")
        put(connection, sessions, [row])
        if is_over or is_same:
            return None
        return note(connection, self._ended_before(identity)).entry

    def _ended_before(self, identity: Identity) -> Revocation:
        return Revocation(
            self._life.until_ms(identity.issued_ms),
            identity.player,
            issued_before_ms=identity.issued_ms,
            is_replaced=True,
        )

    async def _forget(self) -> None:
        """Now and then delete the sessions whose tokens cannot live any longer."""
        if self._clock.monotonic_ms() - self._forgot_ms < _FORGET_EVERY_MS:
            return
        self._forgot_ms = self._clock.monotonic_ms()
        over = delete(sessions).where(sessions.c.until_ms <= self._clock.now_ms())

        def work(connection: Connection) -> None:
            connection.execute(over)

        await self._database.transact(work, Isolation.READ_COMMITTED)


def _session(identity: Identity) -> str:
    return f"s:{identity.session_id}" if identity.session_id else f"t:{identity.token_id}"

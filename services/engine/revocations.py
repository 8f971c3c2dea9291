"""The list of revoked tokens in the engine's database: writing it, and reading it from a cursor.

Rows take their positions from one row that the writer holds until its commit, so that positions
become visible in their order and a cursor misses nothing. An entry is kept for the longest life of
a player's token; then no token that it means can live any longer.
"""

from dataclasses import dataclass
from typing import Any, Final

from sqlalchemy import Connection, and_, delete, func, select, update

from okey.errors import Exhausted
from okey_runtime.clock import Clock
from okey_runtime.database import Database, Isolation
from okey_runtime.errors import FieldViolation, InvalidField
from okey_runtime.revocation import Revocation, Revocations
from okey_runtime.revocation_feed import Page
from services.engine.schema import revocation_positions, revocations
from services.engine.set_based import put

MOST: Final = 100_000
"""Entries; each costs every process that follows the list about 500 bytes."""
MOST_REPLACED: Final = MOST // 2
"""Of these, entries that a newer session made: players must not keep operators' out."""
PAGE: Final = 1_000

_WRITES: Final = Isolation.READ_COMMITTED
_FORGET_EVERY_MS: Final = 60_000


class RevocationsFull(Exhausted):
    """The list has as many entries as every service can keep; take the signing key out instead."""

    reason = "REVOCATIONS_FULL"


@dataclass(frozen=True, slots=True)
class TokenLife:
    """How long a player's token may live, and by how much clocks may differ."""

    longest_ms: int
    skew_ms: int

    def until_ms(self, issued_before_ms: int) -> int:
        """When no token issued before the moment can be taken any more."""
        return issued_before_ms + self.longest_ms + self.skew_ms


@dataclass(frozen=True, slots=True)
class Noted:
    """The entry that stands now, and whether it is new."""

    entry: Revocation
    changed: bool


class RevocationList:
    """All methods raise ``DatabaseAway`` and ``DatabaseBusy``."""

    def __init__(
        self, database: Database, known: Revocations, life: TokenLife, clock: Clock
    ) -> None:
        """``known`` is this process's own list: what is written here holds here at once."""
        self._database = database
        self._known = known
        self._life = life
        self._clock = clock
        self._forgot_ms = clock.monotonic_ms()

    async def revoke_player(self, player: str, issued_before_ms: int | None = None) -> Noted:
        """End all tokens of the player that were issued before the moment, which is now by default.

        Raises:
            InvalidField: the moment lies in the future.
            RevocationsFull: see there.
        """
        now_ms = self._clock.now_ms()
        before_ms = now_ms if issued_before_ms is None else issued_before_ms
        if before_ms > now_ms + self._life.skew_ms:
            rule = (
                f"must not lie in the future: it is {before_ms}, and now is {now_ms}; tokens that "
                "are issued later cannot be revoked before"
            )
            raise InvalidField((FieldViolation("issued_before_ms", rule),))
        return await self._note(
            Revocation(self._life.until_ms(before_ms), player, issued_before_ms=before_ms)
        )

    async def revoke_token(self, token_id: str, expires_ms: int | None = None) -> Noted:
        """End the token. Raises ``RevocationsFull``."""
        if expires_ms is None:
            expires_ms = self._clock.now_ms() + self._life.longest_ms
        return await self._note(Revocation(expires_ms + self._life.skew_ms, token_id=token_id))

    async def after(self, cursor: int) -> Page:
        """The entries that were written after the cursor, at most ``PAGE``."""
        rows = select(revocations).where(revocations.c.position > cursor)
        rows = rows.order_by(revocations.c.position).limit(PAGE)
        newest = select(revocation_positions.c.last)

        def read(connection: Connection) -> Page:
            last = int(connection.execute(newest).scalar_one())
            found = connection.execute(rows).all()
            is_all = len(found) < PAGE
            cursor = last if is_all else found[-1].position
            return Page([_entry(row) for row in found], cursor, last)

        return await self._database.read(read)

    async def follow(self, cursor: int) -> Page:
        """``after``, for this process itself; now and then it deletes what is over."""
        if self._clock.monotonic_ms() - self._forgot_ms >= _FORGET_EVERY_MS:
            self._forgot_ms = self._clock.monotonic_ms()
            await self.forget()
        return await self.after(cursor)

    async def forget(self) -> None:
        """Delete the entries whose tokens cannot live any longer."""
        over = delete(revocations).where(revocations.c.until_ms <= self._clock.now_ms())

        def work(connection: Connection) -> None:
            connection.execute(over)

        await self._database.transact(work, _WRITES)

    async def _note(self, entry: Revocation) -> Noted:
        if entry.until_ms <= self._clock.now_ms():
            return Noted(entry, changed=False)
        noted = await self._database.transact(lambda c: note(c, entry), _WRITES)
        self._known.take([noted.entry])
        return noted


def note(connection: Connection, entry: Revocation) -> Noted:
    """Write the entry unless one that reaches as far is there. Raises ``RevocationsFull``."""
    kind, name = entry.key
    take = update(revocation_positions).values(last=revocation_positions.c.last + 1)
    position = connection.execute(take.returning(revocation_positions.c.last)).scalar_one()
    same = and_(revocations.c.kind == kind, revocations.c.id == name)
    row = connection.execute(select(revocations).where(same)).first()
    known = None if row is None else _entry(row)
    if known is not None and known.reach >= entry.reach:
        return Noted(known, changed=False)
    if known is None or (entry.is_replaced and not known.is_replaced):
        _refuse_if_full(connection, entry.is_replaced)
    values = {
        "kind": kind,
        "id": name,
        "issued_before_ms": entry.issued_before_ms,
        "until_ms": entry.until_ms,
        "is_replaced": entry.is_replaced,
        "position": position,
    }
    put(connection, revocations, [values])
    return Noted(entry, changed=True)


def _refuse_if_full(connection: Connection, is_replaced: bool) -> None:
    count = select(func.count()).select_from(revocations)
    if is_replaced:
        count = count.where(revocations.c.is_replaced.is_(True))
    entries = connection.execute(count).scalar_one()
    if entries >= (MOST_REPLACED if is_replaced else MOST):
        raise RevocationsFull(
            f"{entries} players or tokens are revoked, as many as every service keeps: to end all "
            "tokens of a key at once, take it out of the JWKS file"
        )


def _entry(row: Any) -> Revocation:
    is_token = row.kind == "token"
    return Revocation(
        row.until_ms,
        "" if is_token else row.id,
        row.issued_before_ms,
        row.id if is_token else "",
        row.is_replaced,
    )

"""Invite codes: how friends get into a private table, and nobody else.

A code has 80 random bits and is told once, to whoever made the table; the database keeps hashes.
A private table without any code lets nobody in, so a crash between making the table and its code
opens nothing: the same request gets another code. No event and no log line has a code.
"""

import hashlib
import secrets
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Final

from okey.errors import Exhausted, Forbidden, OkeyError, Unavailable
from okey.table.state import TableState
from okey_runtime.clock import Clock
from okey_runtime.identity import Identity
from okey_runtime.typed_codes import folded
from services.engine.actor import TableActor
from services.engine.invite_store import InviteStore
from services.engine.metrics import INVITES_REFUSED

CODE_CHARS: Final = 16
"""Of five bits each: 80 random bits."""
WRONG_TRIES: Final = 5
"""How many wrong codes a caller may send at once; then one more each ``TRY_EVERY_MS``."""
TRY_EVERY_MS: Final = 60_000

_CALLERS_KEPT: Final = 10_000
_KNOWN_KEPT: Final = 10_000
_ALPHABET: Final = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"


class InviteRequired(Forbidden):
    """The table is private, and the caller neither sits there nor sends its code."""

    reason = "INVITE_REQUIRED"


class InviteWrong(Forbidden):
    """The code is not this table's."""

    reason = "INVITE_WRONG"


class InviteTriesExhausted(Exhausted):
    """The caller has sent too many wrong codes; no code of theirs is looked at for a while."""

    reason = "INVITE_TRIES_EXHAUSTED"

    def __init__(self, retry_after_ms: int) -> None:
        super().__init__(
            f"{WRONG_TRIES} invite codes were wrong: the next is looked at in {retry_after_ms} ms"
        )
        self._retry_after_ms = retry_after_ms

    @property
    def retry_after_ms(self) -> int:
        """When the next code is looked at."""
        return self._retry_after_ms


def new_code() -> str:
    """A random code, in groups of four."""
    chars = "".join(secrets.choice(_ALPHABET) for _ in range(CODE_CHARS))
    return "-".join(chars[at : at + 4] for at in range(0, CODE_CHARS, 4))


def code_hash(table_id: str, code: str) -> bytes:
    """What is kept of a code, however people write it: SHA-256 with the table's id.

    80 random bits cannot be guessed from it, so nothing slower is needed.
    """
    return hashlib.sha256(f"invite\0{table_id}\0{folded(code)}".encode()).digest()


def refuse_malformed(code: str) -> None:
    """Return if the text can be a code, once it is folded. Raises ``InviteWrong``."""
    fitting = sum(each in _ALPHABET for each in folded(code))
    if fitting != CODE_CHARS or len(folded(code)) != CODE_CHARS:
        raise InviteWrong(
            f"an invite code has {CODE_CHARS} digits and letters, without I, L, O and U; this one "
            f"has {fitting} of them among {len(code)} characters: look at it again"
        )


def _counted(refusal: OkeyError) -> OkeyError:
    INVITES_REFUSED.labels(refusal.reason).inc()
    return refusal


class WrongTries:
    """How many more wrong codes each caller may send; the newest callers are remembered."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        # When a caller's tries are all back.
        self._whole_ms: OrderedDict[str, int] = OrderedDict()

    def take(self, caller: str) -> None:
        """Use up a try, before the code is looked at: many at once are counted too.

        Raises ``InviteTriesExhausted`` where none is left.
        """
        now_ms = self._clock.monotonic_ms()
        whole_ms = max(self._whole_ms.get(caller, 0), now_ms) + TRY_EVERY_MS
        left_ms = whole_ms - WRONG_TRIES * TRY_EVERY_MS - now_ms
        if left_ms > 0:
            raise _counted(InviteTriesExhausted(left_ms))
        self._whole_ms[caller] = whole_ms
        self._whole_ms.move_to_end(caller)
        while len(self._whole_ms) > _CALLERS_KEPT:
            self._whole_ms.popitem(last=False)

    def give_back(self, caller: str) -> None:
        """The code was right."""
        if caller in self._whole_ms:
            self._whole_ms[caller] -= TRY_EVERY_MS


@dataclass(frozen=True, slots=True)
class Knock:
    """Who wants in, with which code; ``caller`` is whose wrong tries are counted, ``player`` who
    may sit there, or empty.
    """

    caller: str
    player: str
    invite: str = field(repr=False)

    @classmethod
    def of(cls, identity: Identity, invite: str) -> "Knock":
        """The caller's own."""
        return cls(identity.subject, identity.player, invite)


class Invites:
    """Makes codes, and lets in who may come; ``get`` finds a table's actor."""

    def __init__(
        self, store: InviteStore, get: Callable[[str], Awaitable[TableActor]], clock: Clock
    ) -> None:
        self._store = store
        self._get = get
        self._clock = clock
        self._tries = WrongTries(clock)
        # Who has shown which right code: it is asked no more, and tells the caller nothing new.
        self._known: OrderedDict[tuple[str, bytes], None] = OrderedDict()

    async def code_for(self, table: TableState, player: str) -> str:
        """A new code of a private table, for a player who sits there; else none is made.

        Raises ``DatabaseAway`` or ``DatabaseBusy``.
        """
        if not table.config.is_private or table.seat_of(player) < 0:
            return ""
        code, table_id = new_code(), table.config.table_id
        await self._store.add(table_id, code_hash(table_id, code), self._clock.now_ms())
        return code

    async def let_in(self, table_id: str, knock: Knock) -> TableActor:
        """The table, for who sits there and for who has its code; a public one for everybody.

        Raises:
            InviteRequired, InviteWrong, InviteTriesExhausted: who knocks may not come in.
            OkeyError: the table cannot be had.
        """
        actor = await self._get(table_id)
        if not actor.table.config.is_private or actor.table.seat_of(knock.player) >= 0:
            return actor
        if not folded(knock.invite):
            raise _counted(
                InviteRequired(f"table {table_id} is private: send the invite code of its maker")
            )
        self._refuse_malformed(knock)
        shown = (knock.caller, code_hash(table_id, knock.invite))
        if shown in self._known:
            self._known.move_to_end(shown)
            return actor
        if not await self._is_right(table_id, shown):
            raise _counted(
                InviteWrong(f"the invite code is not that of table {table_id}: ask its maker")
            )
        self._known[shown] = None
        while len(self._known) > _KNOWN_KEPT:
            self._known.popitem(last=False)
        return await self._get(table_id)  # it may have been let go meanwhile

    def _refuse_malformed(self, knock: Knock) -> None:
        """What can be no code is a slip of the hand, and costs no try."""
        try:
            refuse_malformed(knock.invite)
        except InviteWrong as error:
            raise _counted(error) from None

    async def _is_right(self, table_id: str, shown: tuple[str, bytes]) -> bool:
        """Whether the code is the table's; a wrong one costs its caller a try."""
        caller, hashed = shown
        self._tries.take(caller)
        try:
            is_right = await self._store.has(table_id, hashed)
        except (Unavailable, Exhausted):
            self._tries.give_back(caller)
            raise
        if is_right:
            self._tries.give_back(caller)
        return is_right

"""Revoked tokens: the list that a process follows, asked at each call and by every open stream.

A token ends in one of three ways: it expires, somebody revokes it, or a newer session of its player
replaces it. ``Revocations.until_end`` tells a stream of all three, so that none watches a clock of
its own. The engine's database has the truth (``services.engine.revocations``);
``okey_runtime.revocation_feed`` brings it here. Asking costs two look-ups and no call.
"""

import asyncio
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

from prometheus_client import Gauge

from okey_runtime.clock import Clock
from okey_runtime.errors import Unauthenticated
from okey_runtime.identity import Identity

REVOCATIONS: Final = Gauge(
    "okey_revocations", "Entries of the list of revoked tokens that this process knows."
)
AGE: Final = Gauge(
    "okey_revocations_age_seconds",
    "How long ago this process last heard the list of revoked tokens from the engine.",
)


class TokenExpired(Unauthenticated):
    """The token was good and has ended; fetch a new one."""

    reason = "TOKEN_EXPIRED"


class TokenRevoked(Unauthenticated):
    """The token was revoked before its end; its holder has to sign in again."""

    reason = "TOKEN_REVOKED"


class SessionReplaced(Unauthenticated):
    """The player has begun a newer session, and the platform allows a single one."""

    reason = "SESSION_REPLACED"


@dataclass(frozen=True, slots=True)
class Revocation:
    """One entry: a player's tokens issued before a moment, or the one token with an id.

    ``token_id`` is "" for a player's entry, ``player`` for a token's. After ``until_ms`` none of
    the tokens can live any longer, and the entry is dropped.
    """

    until_ms: int
    player: str = ""
    issued_before_ms: int = 0
    token_id: str = ""
    is_replaced: bool = False
    """Whether a newer session did it, and nobody's decision."""

    @property
    def key(self) -> "Key":
        """What the entry is about."""
        return ("token", self.token_id) if self.token_id else ("player", self.player)

    @property
    def reach(self) -> tuple[int, int]:
        """Of two entries about the same the one that reaches further counts."""
        return self.issued_before_ms, self.until_ms

    def covers(self, identity: Identity) -> bool:
        """Whether the caller's token is one of those that the entry ends."""
        if self.token_id:
            return identity.token_id == self.token_id
        return identity.player == self.player and identity.issued_ms < self.issued_before_ms

    def refusal(self) -> Unauthenticated:
        """What a caller with such a token gets."""
        if self.is_replaced:
            return SessionReplaced("you have signed in elsewhere since; one session is allowed")
        return TokenRevoked("the token was revoked: sign in again")


Key = tuple[str, str]
"""What an entry is about: a kind, and the id of that kind."""

End = Callable[[Unauthenticated], object]
"""Ends a stream; it is called once, with the reason."""


@dataclass(eq=False, slots=True)
class _Stream:
    identity: Identity
    end: End


class Revocations:
    """The entries of one process, and its streams that end with one of them."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._entries: dict[Key, Revocation] = {}
        self._streams: defaultdict[Key, set[_Stream]] = defaultdict(set)
        self._heard_ms = clock.monotonic_ms()

    def __len__(self) -> int:
        return len(self._entries)

    @property
    def age_ms(self) -> int:
        """How long ago the list was last heard; since the start, where it never was."""
        return self._clock.monotonic_ms() - self._heard_ms

    def refusal(self, identity: Identity) -> Unauthenticated | None:
        """Why the caller's token has been revoked; None where it has not."""
        for key in _keys(identity):
            entry = self._entries.get(key)
            if entry is not None and entry.covers(identity):
                return entry.refusal()
        return None

    def ended(self, identity: Identity) -> Unauthenticated | None:
        """Why the caller's token is over, whether revoked or expired; None while it is good."""
        if self._clock.now_ms() >= identity.expires_ms:
            return _expired()
        return self.refusal(identity)

    def refuse_ended(self, identity: Identity) -> None:
        """Return while the caller's token is good.

        Raises ``TokenExpired``, ``TokenRevoked`` or ``SessionReplaced``.
        """
        over = self.ended(identity)
        if over is not None:
            raise over

    @contextmanager
    def until_end(self, identity: Identity, end: End) -> Iterator[None]:
        """While the block runs, the end of the caller's token calls ``end``, at most once."""
        stream = _Stream(identity, end)
        for key in _keys(identity):
            self._streams[key].add(stream)
        left_s = max(0, identity.expires_ms - self._clock.now_ms()) / 1000
        loop = asyncio.get_running_loop()
        expiry = loop.call_later(left_s, self._end, stream, _expired())
        revoked = self.refusal(identity)
        if revoked is not None:
            self._end(stream, revoked)
        try:
            yield
        finally:
            expiry.cancel()
            self._forget(stream)

    def take(self, entries: Iterable[Revocation]) -> None:
        """Add entries, each in the place of one about the same that reaches less far; their streams
        end.
        """
        for entry in entries:
            if entry.until_ms <= self._clock.now_ms():
                continue
            known = self._entries.get(entry.key)
            if known is not None and known.reach >= entry.reach:
                continue
            self._entries[entry.key] = entry
            for stream in tuple(self._streams.get(entry.key, ())):
                if entry.covers(stream.identity):
                    self._end(stream, entry.refusal())

    def heard(self) -> None:
        """Note that the list is whole as of now, and drop what is over."""
        now_ms = self._clock.now_ms()
        for key in [key for key, entry in self._entries.items() if entry.until_ms <= now_ms]:
            del self._entries[key]
        self._heard_ms = self._clock.monotonic_ms()
        REVOCATIONS.set(len(self))

    def _end(self, stream: _Stream, why: Unauthenticated) -> None:
        if self._forget(stream):
            stream.end(why)

    def _forget(self, stream: _Stream) -> bool:
        """Whether the stream was still there."""
        was_there = False
        for key in _keys(stream.identity):
            streams = self._streams.get(key, set())
            was_there = was_there or stream in streams
            streams.discard(stream)
            if not streams:
                self._streams.pop(key, None)
        return was_there


def _keys(identity: Identity) -> tuple[Key, Key]:
    """What an entry about the caller's token may be about."""
    return ("player", identity.player), ("token", identity.token_id)


def _expired() -> TokenExpired:
    return TokenExpired("the token has expired: come back with a new one")

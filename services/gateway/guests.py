"""Guests: players without an identity provider, for platforms on one's own machine.

Whoever asks gets a token that the development key signs; production refuses both.
"""

import secrets
from dataclasses import dataclass
from typing import Final

from joserfc.jwk import OKPKey

from okey.errors import Forbidden, NotFound, quoted
from okey_runtime.auth import mint
from okey_runtime.clock import Clock
from okey_runtime.errors import FieldViolation, InvalidField
from okey_runtime.identity import Identity, Role, fit_name

_PREFIX: Final = "guest-"
_NAME_CHARS: Final = 24


class GuestsNotOffered(NotFound):
    """Players bring a token of the identity provider here."""

    reason = "GUESTS_NOT_OFFERED"


class NotAGuest(Forbidden):
    """A player of the identity provider asks for a guest's token: that would be another player."""

    reason = "NOT_A_GUEST"


@dataclass(frozen=True, slots=True)
class GuestSession:
    """A guest's token, and until when it holds."""

    token: str
    player_id: str
    name: str
    expires_at_ms: int


class Guests:
    """Makes guests' tokens, which hold for ``ttl_ms``."""

    def __init__(self, key: OKPKey, clock: Clock, ttl_ms: int, audience: str) -> None:
        self._key = key
        self._clock = clock
        self._ttl_ms = ttl_ms
        self._audience = audience

    def sign_in(self, name: object, known: Identity | None) -> GuestSession:
        """A new guest, or the known one again.

        Raises:
            InvalidField, NameUnfit: nobody can be shown under that name.
            NotAGuest: the known one is a player of the identity provider.
        """
        if known is not None and not known.subject.startswith(_PREFIX):
            raise NotAGuest(
                f"{known.subject} is no guest: renew the token where it was issued, or sign in as "
                "a guest without it"
            )
        if not isinstance(name, str):
            raise InvalidField((FieldViolation("name", f"is text, not {quoted(name)}"),))
        shown = fit_name(name, _NAME_CHARS)
        player = known.subject if known else _new_guest()
        now_ms = self._clock.now_ms()
        token = mint(
            self._key,
            subject=player,
            roles=[Role.PLAYER],
            now_ms=now_ms,
            ttl_ms=self._ttl_ms,
            name=shown,
            audience=self._audience,
            # A token that is renewed goes on with the session, so that it replaces no other.
            session_id=(known.session_id if known else "") or secrets.token_hex(8),
        )
        return GuestSession(token, player, shown, now_ms + self._ttl_ms)


def _new_guest() -> str:
    return f"{_PREFIX}{secrets.token_hex(10)}"

"""Signed tokens: making them, and telling from one who calls.

A token is a JWT (EdDSA or RS256, whichever its key is for) with ``iss``, ``aud``, ``sub``, ``exp``,
``iat`` and ``roles``; players' tokens also carry ``name``. ``jti`` and ``sid`` name a token and its
session. Verified tokens are remembered by their hash until they expire; the list of revoked ones is
asked each time.
"""

import hashlib
import re
import secrets
from collections import OrderedDict
from collections.abc import Iterable, Mapping
from typing import Any, Final, cast

import joserfc.errors
from joserfc import jws, jwt
from joserfc.jwk import OKPKey, RSAKey

from okey_runtime.access import RoleRefused, TokenMissing
from okey_runtime.audiences import DEFAULT_AUDIENCE, Audiences, WrongAudience
from okey_runtime.clock import Clock
from okey_runtime.config import DEV_ISSUER, PLAYER_TOKEN_MAX_LIFE_MS
from okey_runtime.errors import TokenInvalid
from okey_runtime.identity import (
    SUBJECT_PATTERN,
    Identity,
    Role,
    current_identity,
    display_name,
    is_reserved,
)
from okey_runtime.keys import (
    JwksFile,
    KeyFileBroken,
    VerifyingKey,
    create_signing_key,
    load_signing_key,
    write_jwks,
)
from okey_runtime.revocation import Revocations, SessionReplaced, TokenExpired, TokenRevoked
from okey_runtime.token_form import CompactToken, OddToken, read_token

__all__ = [
    "DEFAULT_AUDIENCE",
    "Identity",
    "JwksFile",
    "KeyFileBroken",
    "Role",
    "RoleRefused",
    "SessionReplaced",
    "SubjectReserved",
    "TokenExpired",
    "TokenInvalid",
    "TokenLivesTooLong",
    "TokenMissing",
    "TokenRevoked",
    "TokenVerifier",
    "WrongAudience",
    "bearer_token",
    "create_signing_key",
    "current_identity",
    "load_signing_key",
    "mint",
    "write_jwks",
]

_MAX_TOKEN_CHARS: Final = 4_096
_MAX_NAME_CHARS: Final = 64
_LATEST_S: Final = 253_402_300_799
"""The last second of the year 9999; what lies after it is no time that anybody meant."""
_BEARER: Final = "bearer "
_NOT_VALID: Final = (joserfc.errors.JoseError, ValueError, TypeError, KeyError, RecursionError)
"""How what is no good token fails; the last one where its JSON is nested too deep."""
_ID: Final = re.compile(r"[\x21-\x7e]{1,128}")
"""What ``jti`` and ``sid`` look like."""
_ROLES: Final = {role.value: role for role in Role}


class SubjectReserved(TokenInvalid):
    """The token makes a player of an id that is the house's or a service's; such a player could
    never be erased.
    """

    reason = "SUBJECT_RESERVED"


class TokenLivesTooLong(TokenInvalid):
    """The player's token lives longer than the platform allows; have a shorter one issued."""

    reason = "TOKEN_LIVES_TOO_LONG"


class _KeysOwnAlgorithm(jws.JWSRegistry):
    """Allows exactly the algorithm it is made with.

    The library warns of "EdDSA" because that name does not say the curve; here the key has said it.
    """

    def get_alg(self, name: str) -> Any:  # the library keeps the type of an algorithm private
        if name not in (self.allowed or ()):
            raise joserfc.errors.UnsupportedAlgorithmError(f"{name!r} is not this key's algorithm")
        return self.algorithms[name]


_KEYS_OWN: Final = {name: _KeysOwnAlgorithm(algorithms=[name]) for name in ("EdDSA", "RS256")}
_PUBLIC_ONLY: Final = Audiences()


class TokenVerifier:
    """Turns tokens into identities; ``cache_size`` bounds how many of them are remembered."""

    def __init__(
        self,
        keys: JwksFile,
        *,
        issuer: str,
        clock: Clock,
        audiences: Audiences = _PUBLIC_ONLY,
        skew_ms: int = 30_000,
        cache_size: int = 10_000,
        player_max_life_ms: int = PLAYER_TOKEN_MAX_LIFE_MS,
        revocations: Revocations | None = None,
    ) -> None:
        self._keys = keys
        self._issuer = issuer
        self._audiences = audiences
        self._clock = clock
        self._skew_ms = skew_ms
        self._cache_size = cache_size
        self._player_max_life_ms = player_max_life_ms
        self._revocations = Revocations(clock) if revocations is None else revocations
        self._cache: OrderedDict[bytes, Identity] = OrderedDict()
        self._cache_generation = keys.generation

    def remembers(self, token: str) -> bool:
        """Whether the token was good before, so that it costs nothing to look at."""
        return self._cache_generation == self._keys.generation and _digest(token) in self._cache

    def verify(self, token: str) -> Identity:
        """The identity that the token proves.

        Raises:
            TokenInvalid: malformed, not signed by a trusted key, or of another issuer.
            WrongAudience: for somebody else, or none of its roles counts in a token for its
                audience.
            SubjectReserved: a player's, under an id that no player may have.
            TokenLivesTooLong: a player's, with too much time from ``iat`` to ``exp``.
            TokenExpired: past its ``exp`` by more than the allowed skew.
            TokenRevoked, SessionReplaced: it ended before.
        """
        self._keys.reload_if_changed()
        if self._keys.generation != self._cache_generation:
            self._cache.clear()
            self._cache_generation = self._keys.generation
        digest = _digest(token)
        identity = self._cache.pop(digest, None) or self._verify_anew(token)
        self._revocations.refuse_ended(identity)
        self._cache[digest] = identity
        if len(self._cache) > self._cache_size:
            self._cache.popitem(last=False)
        return identity

    def _verify_anew(self, token: str) -> Identity:
        if len(token) > _MAX_TOKEN_CHARS:
            raise TokenInvalid(
                f"a token has at most {_MAX_TOKEN_CHARS} characters, this one has {len(token)}"
            )
        try:
            claims = self._signed_claims(read_token(token))
            _require_times(claims)
            self._claims_rules().validate(claims)
        except joserfc.errors.ExpiredTokenError as error:
            raise TokenExpired("the token has expired: fetch a new one") from error
        except OddToken as error:
            raise TokenInvalid(str(error)) from error
        except _NOT_VALID as error:
            raise TokenInvalid(f"the token is not valid here ({type(error).__name__})") from error
        self._refuse_if_too_long(identity := _identity(claims, self._audiences, self._skew_ms))
        return identity

    def _signed_claims(self, token: CompactToken) -> dict[str, Any]:
        """What the token claims. The signature is checked before the claims are parsed."""
        trusted = self._trusted_key(token.header)
        registry = _KEYS_OWN[trusted.algorithm]
        algorithm = registry.get_alg(trusted.algorithm)
        if not algorithm.verify(token.signed, token.signature, trusted.key):
            raise joserfc.errors.BadSignatureError
        registry.check_header(dict(token.header))
        return token.claims()

    def _refuse_if_too_long(self, identity: Identity) -> None:
        lives_ms = identity.expires_ms - self._skew_ms - identity.issued_ms
        if identity.player and lives_ms > self._player_max_life_ms:
            raise TokenLivesTooLong(
                f"the token lives for {lives_ms // 1000} s from 'iat' to 'exp', and a player's may "
                f"live for {self._player_max_life_ms // 1000} s: have a shorter one issued"
            )

    def _trusted_key(self, header: Mapping[str, object]) -> VerifyingKey:
        key_id = header.get("kid")
        trusted = self._keys.find(key_id) if isinstance(key_id, str) else None
        if trusted is None:
            raise TokenInvalid("the token names no key ('kid') that this service trusts")
        if header.get("alg") != trusted.algorithm:
            raise TokenInvalid(
                f"the token's 'alg' is not {trusted.algorithm}, the only one its key is for"
            )
        return trusted

    def _claims_rules(self) -> jwt.JWTClaimsRegistry:
        return jwt.JWTClaimsRegistry(
            now=self._clock.now_ms() // 1000,
            leeway=self._skew_ms // 1000,
            iss={"essential": True, "value": self._issuer},
            aud={"essential": True},
            sub={"essential": True},
            exp={"essential": True},
            iat={"essential": True},
        )


def _digest(token: str) -> bytes:
    return hashlib.sha256(token.encode(errors="surrogateescape")).digest()


def bearer_token(metadata: Iterable[tuple[str, str | bytes]]) -> str | None:
    """The token in a call's ``authorization`` metadata, or None if there is none.

    Raises:
        TokenInvalid: the header does not read ``Bearer <token>``, or there are several.
    """
    values = [value for key, value in metadata if key == "authorization"]
    if not values:
        return None
    value = values[0]
    if len(values) > 1 or not isinstance(value, str) or not value.lower().startswith(_BEARER):
        raise TokenInvalid("metadata 'authorization' must stand once and read 'Bearer <token>'")
    return value[len(_BEARER) :].strip(" ")


def mint(
    key: OKPKey | RSAKey,
    *,
    subject: str,
    roles: Iterable[Role],
    now_ms: int,
    ttl_ms: int,
    name: str = "",
    issuer: str = DEV_ISSUER,
    audience: str = DEFAULT_AUDIENCE,
    session_id: str = "",
) -> str:
    """A token for ``subject``, signed now and good for ``ttl_ms``, with an id of its own.

    ``session_id`` is the same for all tokens of one sign-in, where a session has several.

    Raises:
        ValueError: the subject or name could not be verified later.
    """
    if not SUBJECT_PATTERN.fullmatch(subject):
        raise ValueError(f"{subject!r} is no token subject: 1 to 64 of A-Z a-z 0-9 _ . : @ -")
    roles = sorted(roles)
    if Role.PLAYER in roles and is_reserved(subject):
        raise ValueError(f"{subject!r} is the house's or a service's id, and no player's")
    if len(name) > _MAX_NAME_CHARS:
        raise ValueError(
            f"a display name has at most {_MAX_NAME_CHARS} characters, {name!r} has {len(name)}"
        )
    algorithm = "RS256" if isinstance(key, RSAKey) else "EdDSA"
    claims: dict[str, object] = {
        "iss": issuer,
        "aud": audience,
        "sub": subject,
        "iat": now_ms // 1000,
        "exp": (now_ms + ttl_ms) // 1000,
        "roles": roles,
        "jti": secrets.token_hex(16),
    }
    if name:
        claims["name"] = name
    if session_id:
        claims["sid"] = session_id
    header = {"typ": "JWT", "alg": algorithm, "kid": key.kid}
    return jwt.encode(header, claims, key, registry=_KEYS_OWN[algorithm])


def _require_times(claims: Mapping[str, object]) -> None:
    """Refuse numbers that are no time before one computes with them; None is judged elsewhere."""
    for claim in ("exp", "iat", "nbf"):
        value = claims.get(claim)
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        if is_number and 0 <= cast(float, value) <= _LATEST_S:
            continue
        if value is not None:
            raise TokenInvalid(
                f"the token's {claim!r} must be seconds since the epoch, 0 to {_LATEST_S}"
            )


def _identity(claims: Mapping[str, object], audiences: Audiences, skew_ms: int) -> Identity:
    subject, name, roles, expires = (claims.get(claim) for claim in ("sub", "name", "roles", "exp"))
    if not isinstance(subject, str) or not SUBJECT_PATTERN.fullmatch(subject):
        raise TokenInvalid("the token's 'sub' must be 1 to 64 of A-Z a-z 0-9 _ . : @ -")
    if not isinstance(roles, list) or not all(isinstance(role, str) for role in roles):
        raise TokenInvalid("the token's 'roles' must be a list of names")
    if name is not None and not (isinstance(name, str) and len(name) <= _MAX_NAME_CHARS):
        raise TokenInvalid(
            f"the token's 'name' must be text of at most {_MAX_NAME_CHARS} characters"
        )
    if not isinstance(expires, int):
        raise TokenInvalid("the token's 'exp' must be whole seconds since the epoch")
    # A role that this version does not know yet grants nothing, and must not lock its holder out
    # during a rollout.
    known = frozenset(_ROLES[role] for role in cast(list[str], roles) if role in _ROLES)
    if Role.PLAYER in known and is_reserved(subject):
        raise SubjectReserved(
            f"the token makes a player of {subject}, which is the house's or a service's id"
        )
    granted = audiences.granted(claims.get("aud"), known, subject)
    return Identity(
        subject,
        granted,
        display_name(name or ""),
        expires * 1000 + skew_ms,
        int(cast(float, claims["iat"]) * 1000),
        _id_in(claims, "jti"),
        _id_in(claims, "sid"),
        has_token=True,
    )


def _id_in(claims: Mapping[str, object], claim: str) -> str:
    """The id that a claim names, "" where the token has no such claim."""
    value = claims.get(claim)
    if value is None:
        return ""
    if not isinstance(value, str) or not _ID.fullmatch(value):
        raise TokenInvalid(f"the token's {claim!r} must be text of 1 to 128 visible ASCII letters")
    return value

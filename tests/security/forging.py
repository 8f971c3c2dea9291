"""Tokens that no service may take, each wrong in one way."""

import base64
import hmac
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from joserfc import jwt
from joserfc.jwk import OKPKey, RSAKey

from okey_runtime.audiences import PUBLIC_ROLES, audience_for
from okey_runtime.auth import Role, load_signing_key, mint
from okey_runtime.clock import SystemClock
from okey_runtime.config import DEV_ISSUER

HOUR_MS: Final = 3_600_000
PRIVATE: Final = sorted(set(Role) - PUBLIC_ROLES)


def bad_tokens(folder: Path, callee: str) -> Iterator[tuple[str, str, str]]:
    """What is wrong, the reason that it has to be refused with, and the token; each would let its
    bearer in as every role of services and operators at once if the callee took it.
    """
    key = load_signing_key(folder / "signing-key.json")
    other = OKPKey.generate_key("Ed25519", {"kid": str(key.kid)})
    elsewhere = OKPKey.generate_key("Ed25519", {"kid": "nobody-knows-me"})
    now_ms = SystemClock().now_ms()

    def token(signed_by: OKPKey, **changes: Any) -> str:
        wanted: dict[str, Any] = {"subject": "ayse", "roles": PRIVATE, "ttl_ms": HOUR_MS}
        wanted["audience"] = audience_for(callee)
        return mint(signed_by, **(wanted | {"now_ms": now_ms} | changes))

    good = token(key)
    head, claims, signature = good.split(".")
    yield "forged with another key", "TOKEN_INVALID", token(other)
    yield "of an unknown kid", "TOKEN_INVALID", token(elsewhere)
    yield "expired", "TOKEN_EXPIRED", token(key, now_ms=now_ms - 2 * HOUR_MS)
    yield "not yet made", "TOKEN_INVALID", token(key, now_ms=now_ms + HOUR_MS)
    yield "for another audience", "WRONG_AUDIENCE", token(key, audience="okay")
    yield "for players", "WRONG_AUDIENCE", token(key, audience="okey")
    for another in {"lobby", "engine", "wallet", "rating", "bots", "gateway"} - {callee}:
        elsewhere_too = ["okey", audience_for(callee), audience_for(another)]
        yield f"for {another}", "WRONG_AUDIENCE", token(key, audience=audience_for(another))
        yield f"for {another} too", "WRONG_AUDIENCE", token(key, audience=elsewhere_too)
    yield "of another issuer", "TOKEN_INVALID", token(key, issuer=f"{DEV_ISSUER}-2")
    yield "with a changed claim", "TOKEN_INVALID", f"{head}.{_changed(claims)}.{signature}"
    yield "without a signature", "TOKEN_INVALID", f"{head}.{claims}."
    yield "alg none", "TOKEN_INVALID", f"{_part({'alg': 'none', 'kid': key.kid})}.{claims}."
    yield "HS256 with the public key", "TOKEN_INVALID", _symmetric(key, claims)
    yield "RS256 under an Ed25519 kid", "TOKEN_INVALID", _rsa(str(key.kid), claims)
    yield "of another type", "TOKEN_INVALID", _odd(key, claims, typ="dpop+jwt")
    yield "with an unencoded payload", "TOKEN_INVALID", _odd(key, claims, b64=False, crit=["b64"])
    yield "with its own key", "TOKEN_INVALID", _odd(key, claims, jwk=key.as_dict(private=False))
    yield "with a claim twice", "TOKEN_INVALID", _odd(key, _doubled(claims))
    yield (
        "for too long",
        "TOKEN_LIVES_TOO_LONG",
        token(key, ttl_ms=24 * HOUR_MS + 1_000, roles=[Role.PLAYER], audience="okey"),
    )
    yield "no token at all", "TOKEN_INVALID", "x"


def _symmetric(key: OKPKey, claims: str) -> str:
    body = f"{_part({'alg': 'HS256', 'kid': key.kid})}.{claims}"
    mac = hmac.digest(key.as_bytes(encoding="PEM", private=False), body.encode(), "sha256")
    return f"{body}.{_encoded(mac)}"


def _rsa(kid: str, claims: str) -> str:
    key = RSAKey.generate_key(2048, {"kid": kid})
    read = json.loads(base64.urlsafe_b64decode(claims + "=="))
    return jwt.encode({"alg": "RS256", "kid": kid}, read, key)


def _odd(key: OKPKey, claims: str, **header: Any) -> str:
    """Signed well by the trusted key, with more in its header."""
    body = f"{_part({'alg': 'EdDSA', 'kid': key.kid, **header})}.{claims}"
    private: Any = key.private_key
    return f"{body}.{_encoded(private.sign(body.encode()))}"


def _doubled(claims: str) -> str:
    """The subject stands there twice, the second time another one."""
    read = base64.urlsafe_b64decode(claims + "==")
    return _encoded(read[:-1] + b', "sub": "fatma"}')


def _changed(claims: str) -> str:
    read = json.loads(base64.urlsafe_b64decode(claims + "=="))
    return _part(read | {"sub": "fatma"})


def _part(part: object) -> str:
    return _encoded(json.dumps(part).encode())


def _encoded(content: bytes) -> str:
    return base64.urlsafe_b64encode(content).rstrip(b"=").decode()

"""A key, its JWKS file and a verifier that trusts it, with a clock the test turns."""

import base64
import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from joserfc.jwk import OKPKey, RSAKey

from okey_runtime.audiences import PUBLIC_ROLES, Audiences, audience_for
from okey_runtime.auth import Role, TokenVerifier, create_signing_key, mint, write_jwks
from okey_runtime.clock import VirtualClock
from okey_runtime.keys import JwksFile
from okey_runtime.revocation import Revocations

ISSUER = "https://login.example"
HOUR_MS = 3_600_000
SKEW_MS = 30_000


@dataclass
class Issuer:
    """An issuer with one Ed25519 key, and the JWKS file that services read."""

    key: OKPKey
    jwks: Path
    clock: VirtualClock

    @classmethod
    def at(cls, folder: Path) -> "Issuer":
        key = create_signing_key(folder / "signing.json", key_id="first")
        jwks = folder / "jwks.json"
        write_jwks(jwks, key)
        return cls(key, jwks, VirtualClock())

    def verifier(
        self,
        cache_size: int = 100,
        *services: str,
        takes_old: bool = False,
        revocations: Revocations | None = None,
    ) -> TokenVerifier:
        """As the echo service checks tokens, or the named ones."""
        return TokenVerifier(
            JwksFile(self.jwks),
            issuer=ISSUER,
            clock=self.clock,
            audiences=Audiences(services or ["echo"], takes_old=takes_old),
            skew_ms=SKEW_MS,
            cache_size=cache_size,
            revocations=revocations,
        )

    def token(
        self,
        subject: str = "ayse",
        roles: Iterable[Role] = (Role.PLAYER,),
        *,
        key: OKPKey | RSAKey | None = None,
        ttl_ms: int = HOUR_MS,
        issuer: str = ISSUER,
        audience: str | None = None,
    ) -> str:
        """For the echo service where a role needs a token for one service."""
        roles = list(roles)
        callee = "" if PUBLIC_ROLES.issuperset(roles) else "echo"
        return mint(
            key or self.key,
            subject=subject,
            roles=roles,
            now_ms=self.clock.now_ms(),
            ttl_ms=ttl_ms,
            name="Ayşe",
            issuer=issuer,
            audience=audience_for(callee) if audience is None else audience,
        )

    def claims(self, **changes: object) -> dict[str, object]:
        """Claims that would be valid, with some of them changed; None takes one out."""
        now_s = self.clock.now_ms() // 1000
        claims: dict[str, object] = {
            "iss": ISSUER,
            "aud": "okey",
            "sub": "ayse",
            "iat": now_s,
            "exp": now_s + 3_600,
            "roles": ["player"],
            **changes,
        }
        return {name: value for name, value in claims.items() if value is not None}


def encoded(part: object) -> str:
    """One part of a compact token."""
    return base64.urlsafe_b64encode(json.dumps(part).encode()).rstrip(b"=").decode()

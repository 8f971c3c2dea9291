"""The services' own tokens: a folder a service, with a file for each one that it calls, signed with
the development key and renewed in time.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from joserfc.jwk import OKPKey

from okey_runtime.audiences import PEER, audience_for
from okey_runtime.auth import Role, mint, write_jwks
from okey_runtime.clock import Clock
from okey_runtime.files import write_atomically
from okey_runtime.own_tokens import token_file

TOKEN_TTL_MS: Final = 3_600_000

CALLED_BY: Final[Mapping[Role, tuple[str, ...]]] = {
    Role.LOBBY: ("engine", "wallet", "rating"),
    Role.ENGINE: ("wallet", "rating", "bots", PEER),
    Role.WALLET: ("engine",),
    Role.RATING: ("engine",),
    Role.GATEWAY: ("engine",),
}
"""Whom each service calls by its own role; who is not here calls nobody."""


class ServiceTokens:
    """The JWKS file that every service trusts, and each caller's tokens, in one folder."""

    def __init__(self, key: OKPKey, folder: Path, clock: Clock) -> None:
        self._key = key
        self._folder = folder
        self._clock = clock
        self.jwks_file: Final = folder / "jwks.json"

    def folder(self, role: Role) -> Path:
        """Where the tokens of the service with that role are."""
        return self._folder / role

    def write(self) -> None:
        """Write the JWKS file, and a fresh token for every service that a service calls."""
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        write_jwks(self.jwks_file, self._key)
        for role, callees in CALLED_BY.items():
            folder = self.folder(role)
            folder.mkdir(mode=0o700, exist_ok=True)
            for callee in callees:
                write_atomically(folder / token_file(callee), self._token(role, callee))

    def _token(self, role: Role, callee: str) -> str:
        return mint(
            self._key,
            subject=f"{role}-service",
            roles=[role],
            now_ms=self._clock.now_ms(),
            ttl_ms=TOKEN_TTL_MS,
            audience=audience_for(callee),
        )

    async def keep_fresh(self) -> None:
        """Renew for ever, each time half of the tokens' life is over."""
        while True:
            await self._clock.sleep_until_ms(self._clock.monotonic_ms() + TOKEN_TTL_MS // 2)
            self.write()

"""The services' own tokens: a file a role, signed with the development key, renewed in time."""

from pathlib import Path
from typing import Final

from joserfc.jwk import OKPKey

from okey_runtime.auth import Role, mint, write_jwks
from okey_runtime.clock import Clock
from okey_runtime.files import write_atomically

TOKEN_TTL_MS: Final = 3_600_000


class ServiceTokens:
    """The JWKS file that every service trusts, and each role's token file, in one folder."""

    def __init__(self, key: OKPKey, folder: Path, clock: Clock) -> None:
        self._key = key
        self._folder = folder
        self._clock = clock
        self.jwks_file: Final = folder / "jwks.json"

    def file(self, role: Role) -> Path:
        """Where the role's token stands."""
        return self._folder / f"{role}.token"

    def write(self) -> None:
        """Write the JWKS file and a fresh token for every service's role."""
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        write_jwks(self.jwks_file, self._key)
        for role in SERVICE_ROLES:
            token = mint(
                self._key,
                subject=f"{role}-service",
                roles=[role],
                now_ms=self._clock.now_ms(),
                ttl_ms=TOKEN_TTL_MS,
            )
            write_atomically(self.file(role), token)

    async def keep_fresh(self) -> None:
        """Renew for ever, each time half of the tokens' life is over."""
        while True:
            await self._clock.sleep_until_ms(self._clock.monotonic_ms() + TOKEN_TTL_MS // 2)
            self.write()


SERVICE_ROLES: Final = (
    Role.LOBBY,
    Role.ENGINE,
    Role.WALLET,
    Role.RATING,
    Role.BOTS,
    Role.GATEWAY,
)

"""The tokens by which this service is known to those that it calls: one for each of them.

A token is shown only to the service that it is for, so what a callee could keep of it opens
nothing elsewhere (``audiences``).
"""

from pathlib import Path
from typing import Final

from okey_runtime.audiences import Audiences
from okey_runtime.auth import JwksFile, TokenExpired, TokenInvalid, TokenVerifier
from okey_runtime.clock import Clock
from okey_runtime.config import ServiceSettings
from okey_runtime.service_token import AUTHORIZATION, ServiceToken, ServiceTokenMissing
from okey_runtime.status import OK, WARNING, WRONG, Found, Status

_ENDS_SOON_MS: Final = 300_000
_WORST_FIRST: Final = (WRONG, WARNING)


class OwnTokens:
    """Gives each caller its token, and has the status say whether every one of them is good."""

    def __init__(
        self, settings: ServiceSettings, keys: JwksFile, clock: Clock, status: Status
    ) -> None:
        self._settings = settings
        self._keys = keys
        self._clock = clock
        self._status = status
        self._judges: dict[str, _Judge] = {}

    @property
    def are_set(self) -> bool:
        """Whether a setting says where tokens are."""
        settings = self._settings
        return (settings.service_token_dir or settings.service_token_file) is not None

    def to(self, callee: str) -> ServiceToken:
        """The token for calls to ``callee``; read again when its file changes.

        Raises:
            ServiceTokenMissing: no setting says where tokens are.
        """
        folder, file = self._settings.service_token_dir, self._settings.service_token_file
        places = [folder / token_file(callee)] if folder is not None else []
        places += [file] if file is not None else []
        if not places:
            raise ServiceTokenMissing(
                f"no token of its own to call {callee} with: set OKEY_SERVICE_TOKEN_DIR"
            )
        token = ServiceToken(*places)
        if not self._judges:
            self._status.check("own token", self._look)
        self._judges[callee] = _Judge(token, places[0], self._verifier(callee), self._clock)
        return token

    def _verifier(self, callee: str) -> TokenVerifier:
        settings = self._settings
        audiences = Audiences(
            [callee], settings.token_audience, takes_old=settings.token_old_audience
        )
        return TokenVerifier(
            self._keys,
            issuer=settings.token_issuer,
            audiences=audiences,
            skew_ms=settings.token_skew_ms,
            clock=self._clock,
        )

    async def _look(self) -> Found:
        found = {callee: judge.found() for callee, judge in self._judges.items()}
        text = "; ".join(f"for {callee}: {each.text}" for callee, each in found.items())
        for state in _WORST_FIRST:
            bad = [each for each in found.values() if each.state == state]
            if bad:
                return Found(state, text, bad[0].advice)
        return Found(OK, text)


def token_file(callee: str) -> str:
    """The name of the file that holds the token for ``callee``."""
    return f"{callee}.token"


class _Judge:
    """Whether a token is one that its callee takes, and for how long."""

    def __init__(
        self, token: ServiceToken, path: Path, verifier: TokenVerifier, clock: Clock
    ) -> None:
        self._token = token
        self._path = path
        self._verifier = verifier
        self._clock = clock

    def found(self) -> Found:
        path = self._path
        try:
            bearer = dict(self._token())[AUTHORIZATION].removeprefix("Bearer ")
            identity = self._verifier.verify(bearer)
        except ServiceTokenMissing as error:
            return Found(WRONG, str(error), f"write a token to {path}")
        except TokenExpired as error:
            return Found(WRONG, f"{path}: {error}", "see why nobody renews it, and this clock")
        except TokenInvalid as error:
            advice = (
                "see that it is made by the issuer whose keys OKEY_JWKS_FILE holds, for it alone"
            )
            return Found(WRONG, f"{path}: {error}", advice)
        left_ms = identity.expires_ms - self._clock.now_ms()
        told = f"{identity.subject} with the roles {', '.join(sorted(identity.roles)) or 'none'}"
        told += f", for another {left_ms // 1000} s"
        if left_ms < _ENDS_SOON_MS:
            return Found(WARNING, told, f"see whether somebody renews {path}")
        return Found(OK, told)

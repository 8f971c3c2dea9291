"""Who calls, and whose token goes with the calls that are made now.

All connections of the gateway share its channels, so the token is not a channel's but the running
task's: each request and each WebSocket is served by a task of its own, and the tasks that these
start inherit it.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from okey_runtime.auth import TokenVerifier
from okey_runtime.bad_tokens import BadTokens
from okey_runtime.identity import Identity


class Callers:
    """Tells by their tokens who calls; bad ones are limited for each address."""

    def __init__(self, verifier: TokenVerifier, bad_tokens: BadTokens) -> None:
        self._verifier = verifier
        self._bad_tokens = bad_tokens

    def verify(self, token: str, address: str) -> Identity:
        """The identity that the token proves.

        Raises:
            TokenInvalid, TokenExpired: it proves none.
            TooManyBadTokens: the address has shown too many, so this one was not looked at.
        """
        with self._bad_tokens.looked_at(token, _Address(address)):
            return self._verifier.verify(token)


class _Address(str):
    """An address as gRPC names its peers."""

    def peer(self) -> str:
        network = self.partition("/")[0]
        return f"ipv6:[{network}]:0" if ":" in network else f"ipv4:{network}:0"


_token: ContextVar[str] = ContextVar("okey_gateway_token")


@contextmanager
def speaking_with(token: str) -> Iterator[None]:
    """Every call that the block makes, or a task that it starts, is the token's player's."""
    reset = _token.set(token)
    try:
        yield
    finally:
        _token.reset(reset)


def current_token() -> str:
    """The token of whoever is served.

    Raises:
        LookupError: nobody is: a call was about to be made for no player.
    """
    return _token.get()

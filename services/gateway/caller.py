"""Whose token goes with the calls that are made now.

All connections of the gateway share its channels, so the token is not a channel's but the running
task's: each request and each WebSocket is served by a task of its own, and the tasks that these
start inherit it.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

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

"""Why connections end."""

from dataclasses import dataclass
from typing import Final

from okey_runtime.errors import RpcFailure, Unauthenticated
from okey_runtime.revocation import TokenExpired
from services.gateway.failures import failure_for


@dataclass(frozen=True, slots=True)
class Ending:
    """A reason of docs/gateway.md, the WebSocket's close code, whether and when the client may come
    back, and the failure that is the cause, if one is.
    """

    reason: str
    code: int
    is_resumable: bool = True
    retry_after_ms: int | None = None
    failure: RpcFailure | None = None


HELLO_EXPECTED: Final = Ending("HELLO_EXPECTED", 4000)
TOKEN_EXPIRED: Final = Ending("TOKEN_EXPIRED", 4001)
SLOW_READER: Final = Ending("SLOW_READER", 4008)


def refused(failure: RpcFailure) -> Ending:
    """The token does not let its holder in."""
    return Ending(failure.reason, 4001, is_resumable=False, failure=failure)


def over(why: Unauthenticated) -> Ending:
    """The token has ended while the connection was open; only an expired one is renewed."""
    return TOKEN_EXPIRED if isinstance(why, TokenExpired) else refused(failure_for(why))


def crowded(failure: RpcFailure) -> Ending:
    """There are too many connections already."""
    return Ending(failure.reason, 4009, retry_after_ms=failure.retry_after_ms, failure=failure)


def stopping(retry_after_ms: int) -> Ending:
    """This gateway goes, others stay."""
    return Ending("GATEWAY_STOPPING", 1012, retry_after_ms=retry_after_ms)

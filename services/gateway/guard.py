"""What stands before every request: whom it may be for, and what answers tell browsers.

A page of another origin can neither call the gateway nor show it in a frame, and nothing runs in
our page that is not one of its files.
"""

import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Final

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from okey.errors import OkeyError
from okey_runtime.bad_tokens import TooManyBadTokens
from okey_runtime.errors import RpcFailure
from services.gateway.answers import refusal
from services.gateway.failures import failure_for
from services.gateway.heads import RequestUnfit, check_head
from services.gateway.metrics import REQUEST_SECONDS, REQUESTS
from services.gateway.origins import Origins
from services.gateway.places import AddressBusy

_PAGE_RULES: Final = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self' data:",
        "font-src 'self'",
        "media-src 'self'",
        "manifest-src 'self'",
        "connect-src 'self'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
    )
)
HEADERS: Final[Mapping[str, str]] = {
    "content-security-policy": _PAGE_RULES,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=(), payment=()",
}
"""With every answer."""

HTTPS_ONLY: Final[Mapping[str, str]] = {"strict-transport-security": "max-age=31536000"}
"""With every answer where browsers speak HTTPS: for a year they use nothing else."""

_ENDS_CONNECTION: Final = (AddressBusy, TooManyBadTokens)
"""Refusals after which an address asks over a new connection, if at all."""

_NOBODY_THERE: Final = 499
"""What a request is counted as whose client has gone before its answer."""
_ROUTES: Final = frozenset({"rpc", "session", "static", "config.json", "health"})
_PAGES: Final = frozenset({"", "table", "invite"})


class Guard:
    """Lets nothing by that is not for us, answers refusals, puts ``HEADERS`` on every answer, and
    counts: requests for metrics, and those of one address that are under way.
    """

    def __init__(
        self, app: ASGIApp, origins: Origins, most_per_address: int, headers: Mapping[str, str]
    ) -> None:
        self._app = app
        self._origins = origins
        self._most_per_address = most_per_address
        self._headers = headers
        self._under_way: Counter[str] = Counter()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request, or one WebSocket."""
        started_s = time.perf_counter()
        asked = Headers(scope=scope)
        status = _NOBODY_THERE

        async def send_with_headers(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                headers = MutableHeaders(scope=message)
                headers.update(self._headers)
                # Files are asked for again each time, so that a page is always of one version.
                headers.setdefault("cache-control", "no-cache")
                self._origins.mark(scope, asked, headers)
            await send(message)

        try:
            await self._pass(scope, asked, receive, send_with_headers)
        except RequestUnfit as error:
            unfit = refusal(failure_for(error), error.status)
            unfit.headers["connection"] = "close"
            await unfit(scope, receive, send_with_headers)
        except (OkeyError, RpcFailure) as error:
            refused = refusal(failure_for(error))
            if isinstance(error, _ENDS_CONNECTION):
                refused.headers["connection"] = "close"
            await refused(scope, receive, send_with_headers)
        except ClientDisconnect:
            pass  # in the middle of its request: there is nobody to answer
        if scope["type"] == "http":
            route = _route(scope["path"])
            REQUESTS.labels(route, str(status)).inc()
            REQUEST_SECONDS.labels(route).observe(time.perf_counter() - started_s)

    async def _pass(self, scope: Scope, asked: Headers, receive: Receive, send: Send) -> None:
        check_head(scope)
        self._origins.check(asked)
        preflight = self._origins.preflight(scope, asked)
        if scope["type"] == "websocket":
            await self._app(scope, receive, send)
            return
        with self._counted(scope["client"][0]):
            await (preflight or self._app)(scope, receive, send)

    @contextmanager
    def _counted(self, address: str) -> Iterator[None]:
        if self._under_way[address] >= self._most_per_address:
            raise AddressBusy(f"{address} has {self._most_per_address} requests under way: wait")
        self._under_way[address] += 1
        try:
            yield
        finally:
            self._under_way[address] -= 1
            if not self._under_way[address]:
                del self._under_way[address]


def _route(path: str) -> str:
    """What an address is counted as; there are few of them, whatever is asked for."""
    first = path.removeprefix("/").partition("/")[0]  # "OPTIONS *" has no stroke
    return first if first in _ROUTES else "page" if first in _PAGES else "other"

"""What stands before every request: whom it may be for, and what answers tell browsers.

A page of another origin can neither call the gateway nor show it in a frame, and nothing runs in
our page that is not one of its files.
"""

import time
from collections.abc import Collection, Mapping
from typing import Final
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from okey.errors import Forbidden, OkeyError, quoted
from okey_runtime.errors import RpcFailure
from services.gateway.answers import refusal
from services.gateway.failures import failure_for
from services.gateway.metrics import REQUEST_SECONDS, REQUESTS

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

_ROUTES: Final = frozenset({"rpc", "session", "static", "config.json", "health"})
_PAGES: Final = frozenset({"", "table", "invite"})


class HostRefused(Forbidden):
    """The request names a host that this gateway is not."""

    reason = "HOST_REFUSED"


class OriginRefused(Forbidden):
    """A page of another origin asks."""

    reason = "ORIGIN_REFUSED"


def check_origin(headers: Headers, hosts: Collection[str]) -> None:
    """Return if the request is for us, and comes from our own page or from no browser.

    Raises:
        HostRefused, OriginRefused: it does not.
    """
    host = headers.get("host", "").lower()
    if _name(host) not in hosts:
        raise HostRefused(f"this gateway is not {quoted(host)}: see OKEY_GATEWAY_HOSTS")
    origin = headers.get("origin")
    if origin is None:
        return
    if not _is_of(origin.lower(), host):
        raise OriginRefused(f"pages of {quoted(origin)} may not call {quoted(host)}")


def _is_of(origin: str, host: str) -> bool:
    try:
        found = urlsplit(origin)
    except ValueError:  # such as "http://[", which is no address
        return False
    return found.scheme in ("http", "https") and found.netloc == host


def _name(host: str) -> str:
    """The host without its port."""
    name, colon, port = host.rpartition(":")
    return name if colon and port.isdigit() else host


class Guard:
    """Lets nothing by that is not for us, answers refusals, puts ``HEADERS`` on every answer, and
    counts.
    """

    def __init__(self, app: ASGIApp, hosts: Collection[str]) -> None:
        self._app = app
        self._hosts = hosts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request, or one WebSocket."""
        started_s = time.perf_counter()
        status = 0

        async def send_with_headers(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                headers = MutableHeaders(scope=message)
                headers.update(HEADERS)
                # Files are asked for again each time, so that a page is always of one version.
                headers.setdefault("cache-control", "no-cache")
            await send(message)

        try:
            check_origin(Headers(scope=scope), self._hosts)
            await self._app(scope, receive, send_with_headers)
        except (OkeyError, RpcFailure) as error:
            await refusal(failure_for(error))(scope, receive, send_with_headers)
        if scope["type"] == "http":
            route = _route(scope["path"])
            REQUESTS.labels(route, str(status)).inc()
            REQUEST_SECONDS.labels(route).observe(time.perf_counter() - started_s)


def _route(path: str) -> str:
    """What an address is counted as; there are few of them, whatever is asked for."""
    first = path.removeprefix("/").partition("/")[0]  # "OPTIONS *" has no stroke
    return first if first in _ROUTES else "page" if first in _PAGES else "other"

"""Checks which pages may call: our own, and those of configured origins (CORS)."""

from collections.abc import Collection
from typing import Final
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import Response
from starlette.types import Scope

from okey.errors import Forbidden, quoted

_SHARED_ROUTES: Final = frozenset({"rpc", "session", "config.json"})
_PREFLIGHT_HOLDS_S: Final = 600


class HostRefused(Forbidden):
    """The request names a host that this gateway is not."""

    reason = "HOST_REFUSED"


class OriginRefused(Forbidden):
    """The calling page's origin is not allowed."""

    reason = "ORIGIN_REFUSED"


class Origins:
    """``hosts`` are our own names, ``others`` the origins on other hosts whose pages may call."""

    def __init__(self, hosts: Collection[str], others: Collection[str]) -> None:
        self._hosts = hosts
        self._others = others

    def check(self, headers: Headers) -> None:
        """Return if the request is for us, and comes from a page that may call or from no browser.

        Raises:
            HostRefused, OriginRefused: it does not.
        """
        host = headers.get("host", "").lower()
        if _name(host) not in self._hosts:
            raise HostRefused(f"this gateway is not {quoted(host)}: see OKEY_GATEWAY_HOSTS")
        origin = headers.get("origin")
        if origin is None or _is_of(origin.lower(), host) or self._is_other(headers):
            return
        raise OriginRefused(
            f"pages of {quoted(origin)} may not call {quoted(host)}: see OKEY_GATEWAY_ORIGINS"
        )

    def preflight(self, scope: Scope, headers: Headers) -> Response | None:
        """The answer to a CORS preflight; None where the request is not one."""
        is_asked = "access-control-request-method" in headers and scope.get("method") == "OPTIONS"
        if not is_asked or not self._is_other(headers) or not _is_shared(scope):
            return None
        told = {
            "access-control-allow-methods": "GET, POST",
            "access-control-allow-headers": "authorization, content-type",
            "access-control-max-age": str(_PREFLIGHT_HOLDS_S),
        }
        return Response(status_code=204, headers=told)

    def mark(self, scope: Scope, asked: Headers, answer: MutableHeaders) -> None:
        """Let the page that asked read the answer, if it may; without credentials, since the
        gateway has no cookies.
        """
        if not self._others or not _is_shared(scope):
            return
        answer.add_vary_header("Origin")
        if self._is_other(asked):
            answer["access-control-allow-origin"] = asked["origin"]

    def _is_other(self, headers: Headers) -> bool:
        return headers.get("origin", "").lower() in self._others


def _is_shared(scope: Scope) -> bool:
    return scope["path"].removeprefix("/").partition("/")[0] in _SHARED_ROUTES


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

"""gRPC-Web as a browser speaks it: HTTP/1.1, frames in the body, trailers in the last frame."""

import http.client
import ssl
import struct
import urllib.request
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass
from typing import Final

_TRAILERS: Final = 0x80
_HEADERS: Final = {"content-type": "application/grpc-web+proto", "x-grpc-web": "1"}
_HEAD: Final = struct.Struct(">BI")


@dataclass(frozen=True)
class WebAnswer:
    """Messages as bytes, the call's trailers, and the response's headers."""

    messages: tuple[bytes, ...]
    trailers: Mapping[str, str]
    headers: Mapping[str, str]


@dataclass(frozen=True)
class HttpAnswer:
    """An answer of HTTP as it came."""

    status: int
    headers: Mapping[str, str]
    body: bytes


def call(address: str, method: str, message: bytes, headers: Mapping[str, str]) -> WebAnswer:
    """One unary call to ``/package.Service/Method``."""
    request = urllib.request.Request(
        f"http://{address}{method}", _body(message), {**_HEADERS, **headers}, method="POST"
    )
    with urllib.request.urlopen(request, timeout=20) as answer:
        return _read(answer)


def call_from(
    host: str,
    address: str,
    method: str,
    headers: Mapping[str, str],
    trusted: ssl.SSLContext,
) -> WebAnswer:
    """The same with an empty message by TLS, from this address of the machine."""
    at, _, port = address.rpartition(":")
    connection = http.client.HTTPSConnection(
        at, int(port), timeout=20, source_address=(host, 0), context=trusted
    )
    with closing(connection):
        connection.request("POST", method, _body(b""), {**_HEADERS, **headers})
        return _read(connection.getresponse())


def _body(message: bytes) -> bytes:
    return _HEAD.pack(0, len(message)) + message


def _read(answer: http.client.HTTPResponse) -> WebAnswer:
    body, told = answer.read(), {name.lower(): value for name, value in answer.headers.items()}
    messages, trailers = [], {}
    while body:
        kind, size = _HEAD.unpack_from(body)
        frame, body = body[_HEAD.size : _HEAD.size + size], body[_HEAD.size + size :]
        if kind & _TRAILERS:
            pairs = (line.partition(":") for line in frame.decode().splitlines())
            trailers = {name.strip(): value.strip() for name, _, value in pairs}
        else:
            messages.append(frame)
    # A call that is refused at once has its trailers in the headers.
    return WebAnswer(tuple(messages), trailers or told, told)


def preflight(address: str, method: str, origin: str, asked: str) -> Mapping[str, str]:
    """What a browser is told before its first call from a page of that origin; raises ``HTTPError``
    where it is refused.
    """
    request = urllib.request.Request(
        f"http://{address}{method}",
        headers={
            "origin": origin,
            "access-control-request-method": "POST",
            "access-control-request-headers": asked,
        },
        method="OPTIONS",
    )
    with urllib.request.urlopen(request, timeout=20) as answer:
        return {name.lower(): value for name, value in answer.headers.items()}


def request(
    address: str, method: str, path: str, headers: Mapping[str, str], host: str = "127.0.0.1"
) -> HttpAnswer:
    """The answer to any request at all by HTTP/1.1, sent from this address of the machine."""
    at, _, port = address.rpartition(":")
    connection = http.client.HTTPConnection(at, int(port), timeout=20, source_address=(host, 0))
    with closing(connection):
        connection.request(method, path, b"", dict(headers))
        answer = connection.getresponse()
        told = {name.lower(): value for name, value in answer.headers.items()}
        return HttpAnswer(answer.status, told, answer.read())

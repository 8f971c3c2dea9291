"""JSON out, JSON in: the bodies of HTTP requests."""

from typing import Final

import orjson
from starlette.requests import Request
from starlette.responses import Response

from okey.errors import quoted
from okey_runtime.errors import MalformedRequest, RpcFailure
from services.gateway.failures import error_object, http_status
from services.gateway.wire import Json, read_object

_JSON: Final = "application/json"
_MOST_BYTES: Final = 64 << 10


def answer(content: Json) -> Response:
    """The object, for nobody's cache."""
    return _response(content, 200)


def refusal(failure: RpcFailure, status: int | None = None) -> Response:
    """The failure, with the status that belongs to it, or another one."""
    return _response(error_object(failure), status or http_status(failure))


async def body_of(request: Request) -> Json:
    """The object that a request holds.

    Raises:
        MalformedRequest: it holds something else, or too much.
    """
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != _JSON:
        # A form of another origin could send other types without asking first.
        raise MalformedRequest(f"the content type is {_JSON}, not {quoted(kind)}")
    declared = request.headers.get("content-length", "0")
    if not declared.isdecimal() or int(declared) > _MOST_BYTES:
        raise _too_long()
    content = bytearray()
    async for chunk in request.stream():
        content += chunk
        if len(content) > _MOST_BYTES:
            raise _too_long()
    return read_object(bytes(content))


def _too_long() -> MalformedRequest:
    return MalformedRequest(f"a request has at most {_MOST_BYTES} bytes")


def _response(content: Json, status: int) -> Response:
    headers = {"cache-control": "no-store"}
    return Response(orjson.dumps(content), status, headers, media_type=_JSON)

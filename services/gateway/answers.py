"""JSON out, JSON in: the bodies of HTTP requests."""

from typing import Final

import orjson
from starlette.requests import Request
from starlette.responses import Response

from okey.errors import quoted
from okey_runtime.errors import MalformedRequest, RpcFailure
from okey_runtime.requests import RequestTooLarge
from services.gateway.failures import error_object, http_status
from services.gateway.wire import Json, read_object

_JSON: Final = "application/json"


def answer(content: Json) -> Response:
    """The object, for nobody's cache."""
    return _response(content, 200)


def refusal(failure: RpcFailure, status: int | None = None) -> Response:
    """The failure, with the status that belongs to it, or another one."""
    return _response(error_object(failure), status or http_status(failure))


async def body_of(request: Request, most_bytes: int) -> Json:
    """The object that a request holds.

    Raises:
        MalformedRequest: it holds something else.
        RequestTooLarge: it is longer than that, and was not parsed.
    """
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != _JSON:
        # A form of another origin could send other types without asking first.
        raise MalformedRequest(f"the content type is {_JSON}, not {quoted(kind)}")
    declared = request.headers.get("content-length", "0")
    if not declared.isdecimal():
        raise MalformedRequest(f"the content length is a number, not {quoted(declared)}")
    if int(declared) > most_bytes:
        raise RequestTooLarge(int(declared), most_bytes)
    content = bytearray()
    async for chunk in request.stream():
        content += chunk
        if len(content) > most_bytes:
            raise RequestTooLarge(len(content), most_bytes)
    return read_object(bytes(content))


def _response(content: Json, status: int) -> Response:
    headers = {"cache-control": "no-store"}
    return Response(orjson.dumps(content), status, headers, media_type=_JSON)

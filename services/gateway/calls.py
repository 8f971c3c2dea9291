"""Signing in and single calls over HTTP."""

from dataclasses import asdict

from starlette.requests import Request
from starlette.responses import Response

from okey_client import OkeyClient
from okey_runtime.access import TokenMissing
from okey_runtime.auth import bearer_token
from okey_runtime.limits import Gate
from okey_runtime.logging import log_context
from okey_runtime.trace import adopt_trace
from services.gateway.answers import answer, body_of
from services.gateway.caller import Callers, speaking_with
from services.gateway.encoding import encode
from services.gateway.guests import Guests, GuestsNotOffered
from services.gateway.offered import find_rpc
from services.gateway.wire import LEAST_BYTES, from_json, most_json_bytes


async def sign_in(request: Request, guests: Guests | None, callers: Callers) -> Response:
    """A guest's token: a new guest's, or that of the one whose token the request has.

    Raises:
        GuestsNotOffered, NotAGuest, MalformedRequest, RequestTooLarge, InvalidField, TokenInvalid,
            TokenExpired, TooManyBadTokens: no token.
    """
    if guests is None:
        raise GuestsNotOffered("there are no guests here: sign in with the identity provider")
    said = await body_of(request, LEAST_BYTES)
    token = _token(request)
    known = None if token is None else callers.verify(token, _address(request))
    return answer(asdict(guests.sign_in(said.get("name"), known)))


async def call(request: Request, client: OkeyClient, callers: Callers, gate: Gate) -> Response:
    """The answer of the service that the address names, to the player whose token the request has.

    Raises:
        RpcNotOffered, TokenMissing, TokenInvalid, TokenExpired, TooManyBadTokens, RateLimited,
            BudgetSpent: it was not asked, and the body was not read.
        RequestTooLarge, MalformedRequest, InvalidField: it was not asked.
        RpcFailure: it has refused.
    """
    rpc = find_rpc(request.path_params["service"], request.path_params["method"])
    token = _token(request)
    if token is None:
        raise TokenMissing("send 'Authorization: Bearer <token>'")
    caller = callers.verify(token, _address(request))
    gate.refuse_if_too_often(caller, rpc.path)
    body = await body_of(request, most_json_bytes(rpc.path))
    message = from_json(body, rpc.request(), is_reading=rpc.is_reading)
    adopt_trace(())
    with speaking_with(token), log_context(player_id=caller.subject):
        return answer(encode(await client.call(rpc.home, rpc.at, message)))


def _token(request: Request) -> str | None:
    headers = request.headers.getlist("authorization")
    return bearer_token(("authorization", value) for value in headers)


def _address(request: Request) -> str:
    return request.client.host if request.client else ""

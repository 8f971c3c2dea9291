"""A revoked player is signed out of the gateway: its sockets, its calls, and no new token."""

import asyncio
from typing import Any

import pytest

from okey.api.engine.v1 import revocations_pb2, revocations_pb2_grpc
from okey_runtime.identity import Role
from okey_runtime.server import ServiceServer
from tests.integration.gateway.stand import PATIENCE_S, Stand, browser, http


async def revoke(world: Stand, player: str) -> None:
    stub = revocations_pb2_grpc.RevocationServiceStub(await world.channel("login", Role.IDENTITY))
    request = revocations_pb2.RevokeTokensRequest(player_id=player, reason="stolen")
    assert (await stub.RevokeTokens(request)).changed


@pytest.mark.parametrize("has_table", [True, False], ids=["at a table", "idle"])
async def test_sockets_of_a_revoked_player_end_for_good(
    world: Stand, gateway: ServiceServer, has_table: bool
) -> None:
    """The page signs out on 4001 with any reason but TOKEN_EXPIRED."""
    player = f"revoked-{has_table}".lower()
    token = world.issuer.token(player)
    hello: dict[str, Any] = {}
    if has_table:
        hello = {"table_id": await world.open_table(player)}
    async with (
        browser(gateway, token, **hello) as ada,
        browser(gateway, world.issuer.token("someone-else")) as other,
    ):
        await ada.hear("welcome")
        await other.hear("welcome")
        if has_table:
            await ada.hear("table")
        await revoke(world, player)
        end = (await ada.hear("end"))["end"]
        while end["of"] != "connection":
            end = (await ada.hear("end"))["end"]
        assert (end["reason"], end["is_resumable"]) == ("TOKEN_REVOKED", False)
        assert await ada.close_code() == 4001
        await other.say(ping={"id": 1})
        assert (await other.hear("pong"))["pong"]["id"] == 1
    async with browser(gateway, token) as again:
        assert (await again.hear())["end"]["reason"] == "TOKEN_REVOKED"


async def test_a_revoked_guest_gets_neither_answers_nor_another_token(
    world: Stand, gateway: ServiceServer
) -> None:
    async with http(gateway) as client:
        guest = (await client.post("session/guest", json={"name": "Zeki"})).json()
        own = {"authorization": f"Bearer {guest['token']}"}
        await revoke(world, guest["player_id"])

        async def reason(path: str, **said: object) -> str:
            answer = await client.post(path, json=said, headers=own)
            return str(answer.json().get("reason", "")) if answer.status_code == 401 else ""

        # Rating and the gateway each hear of it by themselves.
        async with asyncio.timeout(PATIENCE_S):
            while await reason("rpc/RatingService/ListSeasons") != "TOKEN_REVOKED":
                pass
            while await reason("session/guest", name="Zeki") != "TOKEN_REVOKED":
                pass


async def test_a_guests_renewed_token_goes_on_with_the_session(
    world: Stand, gateway: ServiceServer
) -> None:
    """Else a platform with one session a player would sign the guest's other tab out."""
    async with http(gateway) as client:
        first = (await client.post("session/guest", json={"name": "Ece"})).json()
        own = {"authorization": f"Bearer {first['token']}"}
        renewed = (await client.post("session/guest", json={"name": "Ece"}, headers=own)).json()
        other = (await client.post("session/guest", json={"name": "Ece"})).json()
    verify = gateway.verifier.verify
    session = verify(first["token"]).session_id
    assert session
    assert verify(renewed["token"]).session_id == session
    assert verify(renewed["token"]).token_id != verify(first["token"]).token_id
    assert verify(other["token"]).session_id != session

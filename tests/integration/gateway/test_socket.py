"""The WebSocket: hello, frames that cannot be used, watches, limits, and every way it ends."""

import logging
from typing import Any
from urllib.parse import urlsplit

import pytest
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed, InvalidStatus

from okey_runtime.identity import Role
from okey_runtime.server import ServiceServer
from services.gateway.web_server import MAX_FRAME_BYTES
from tests.integration.gateway.stand import Stand, browser, rpc, url_of

CANAK = {"variant": "VARIANT_CANAK", "seat_count": 4, "stake": "100"}


HELLOS: dict[str, tuple[dict[str, Any], str, int]] = {
    "no token": ({"hello": {}}, "TOKEN_MISSING", 4001),
    "bad token": ({"hello": {"token": "eyJ.x.y"}}, "TOKEN_INVALID", 4001),
    "no hello": ({"ping": {}}, "HELLO_EXPECTED", 4000),
    "two keys": ({"hello": {}, "ping": {}}, "HELLO_EXPECTED", 4000),
}


@pytest.mark.parametrize("case", HELLOS)
async def test_who_does_not_say_who_it_is_is_sent_away(gateway: ServiceServer, case: str) -> None:
    said, reason, code = HELLOS[case]
    async with browser(gateway) as stranger:
        await stranger.say(**said)
        end = (await stranger.hear())["end"]
        assert (end["of"], end["reason"]) == ("connection", reason)
        assert await stranger.close_code() == code


async def test_the_websocket_is_for_players(world: Stand, gateway: ServiceServer) -> None:
    async with browser(gateway, world.issuer.token("team", [Role.INTEGRATOR])) as team:
        end = (await team.hear())["end"]
        assert (end["reason"], end["is_resumable"]) == ("ROLE_REFUSED", False)


async def test_who_says_nothing_is_sent_away(world: Stand) -> None:
    gateway = await world.start_gateway(gateway_hello_ms=50)
    async with browser(gateway) as silent:
        assert (await silent.hear())["end"]["reason"] == "HELLO_EXPECTED"


async def test_a_connection_ends_with_its_token(world: Stand) -> None:
    gateway = await world.start_gateway()
    token = world.issuer.token("ada", ttl_ms=1_000 - world.gateway_settings().token_skew_ms)
    async with browser(gateway, token) as ada:
        assert "welcome" in await ada.hear()
        end = (await ada.hear())["end"]
        assert (end["reason"], end["is_resumable"]) == ("TOKEN_EXPIRED", True)
        assert await ada.close_code() == 4001
    async with browser(gateway, token) as late:
        assert (await late.hear())["end"] == end


async def test_connections_have_bounds(world: Stand) -> None:
    bounds = {"gateway_connections_per_player": 1, "gateway_connections": 2}
    gateway = await world.start_gateway(**bounds)
    ada, bob = world.issuer.token("ada"), world.issuer.token("bob")
    async with browser(gateway, ada) as first:
        await first.hear("welcome")
        async with browser(gateway, ada) as second:
            end = (await second.hear())["end"]
            assert end["reason"] == "CONNECTIONS_EXHAUSTED"
            assert end["retry_after_ms"] > 0
            assert await second.close_code() == 4009
        async with browser(gateway, bob) as other:
            await other.hear("welcome")
            async with browser(gateway, world.issuer.token("cem")) as third:
                assert (await third.hear())["end"]["reason"] == "CONNECTIONS_EXHAUSTED"
    async with browser(gateway, ada) as again:
        assert "welcome" in await again.hear()


async def test_pages_of_other_origins_get_no_connection(gateway: ServiceServer) -> None:
    with pytest.raises(InvalidStatus) as refused:
        async with browser(gateway, headers={"origin": "http://evil.example"}):
            pass
    assert refused.value.response.status_code == 403


async def test_another_host_gets_no_connection(gateway: ServiceServer) -> None:
    """As a name of somebody else's that leads to this machine."""
    port = urlsplit(url_of(gateway)).port
    with pytest.raises(InvalidStatus) as refused:
        async with connect(f"ws://evil.example:{port}/ws", host="127.0.0.1", proxy=None):
            pass
    assert refused.value.response.status_code == 403


async def test_our_own_page_gets_a_connection(world: Stand, gateway: ServiceServer) -> None:
    origin = {"origin": url_of(gateway).rstrip("/")}
    async with browser(gateway, world.issuer.token("ada"), headers=origin) as ada:
        assert "welcome" in await ada.hear()


FRAMES = {
    "no JSON": ("{", "MALFORMED_REQUEST"),
    "no object": ("[]", "MALFORMED_REQUEST"),
    "no object below": ('{"play": 1}', "MALFORMED_REQUEST"),
    "unknown": ('{"dance": {}}', "MALFORMED_REQUEST"),
    "unknown command": ('{"play": {"dance": {}}}', "MALFORMED_REQUEST"),
    "no command": ('{"play": {}}', "NO_TABLE_OPEN"),
    "bad table": ('{"play": {"attach": {"table_id": "X"}}}', "INVALID_FIELD"),
    "unknown watch": ('{"watch": {"dance": {}}}', "MALFORMED_REQUEST"),
    "no object watched": ('{"watch": {"tables": 5}}', "MALFORMED_REQUEST"),
    "nothing watched": ('{"watch": {"tables": null}}', "MALFORMED_REQUEST"),
    "no object unwatched": ('{"unwatch": {"tables": 5}}', "MALFORMED_REQUEST"),
    "bad watch": ('{"watch": {"tables": {"seat_count": 3}}}', "INVALID_FIELD"),
    "no table": ('{"play": {"forfeit": {"request_id": "request-1"}}}', "NO_TABLE_OPEN"),
}


async def test_what_cannot_be_used_is_answered_and_the_connection_goes_on(
    world: Stand, gateway: ServiceServer
) -> None:
    async with browser(gateway, world.issuer.token("ada")) as ada:
        await ada.hear("welcome")
        for text, reason in FRAMES.values():
            await ada.socket.send(text)
            assert (await ada.hear())["error"]["reason"] == reason, text
        await ada.socket.send(b"\xff\x00")
        assert (await ada.hear())["error"]["reason"] == "MALFORMED_REQUEST"
        await ada.socket.send(b'{"ping": {"id": 6}}')
        assert (await ada.hear())["pong"]["id"] == 6
        await ada.say(ping={"id": 7})
        pong = (await ada.hear())["pong"]
        assert (pong["id"], pong["server_time_ms"] > 0) == (7, True)


async def test_a_frame_that_is_too_long_ends_the_connection_and_nothing_else(
    world: Stand, gateway: ServiceServer, caplog: pytest.LogCaptureFixture
) -> None:
    """Also while answers to frames before it are on their way."""
    async with browser(gateway, world.issuer.token("ada")) as ada:
        await ada.hear("welcome")
        protocol = ada.socket.protocol
        for number in range(20):
            protocol.send_text(b'{"ping": {"id": %d}}' % number)
        protocol.send_text(b"x" * (MAX_FRAME_BYTES + 1))
        ada.socket.transport.write(b"".join(protocol.data_to_send()))
        with pytest.raises(ConnectionClosed) as closed:
            await ada.hear("nothing that ever comes")
        assert closed.value.rcvd is not None
        assert closed.value.rcvd.code == 1009
    async with browser(gateway, world.issuer.token("ada")) as again:
        assert "welcome" in await again.hear()
    assert [record for record in caplog.records if record.levelno >= logging.ERROR] == []


async def test_a_table_that_is_not_there_ends_at_once(world: Stand, gateway: ServiceServer) -> None:
    async with browser(gateway, world.issuer.token("ada"), table_id="a" * 26) as ada:
        end = (await ada.hear("end"))["end"]
        assert (end["of"], end["reason"], end["is_resumable"]) == (
            "table",
            "TABLE_NOT_FOUND",
            False,
        )
        assert end["error"]["code"] == "NOT_FOUND"
        await ada.say(ping={"id": 1})
        assert "pong" in await ada.hear()


async def test_a_command_is_answered_under_its_id(world: Stand, gateway: ServiceServer) -> None:
    token = world.issuer.token("cem")
    made = await rpc(gateway, token, "LobbyService/CreateTable", request_id="table-of-cem")
    async with browser(gateway, token, table_id=made["table_id"]) as cem:
        assert "snapshot" in (await cem.hear("table"))["table"]
        refused = await cem.ask(forfeit={})
        assert refused["error"]["reason"] == "NO_MATCH_RUNNING"
        left = await cem.ask(leave_seat={})
        assert "error" not in left
        assert int(left["seq"]) > 0
        await cem.say(detach={})
        await cem.say(play={"forfeit": {"request_id": "request-9"}})
        assert (await cem.hear("error"))["error"]["reason"] == "NO_TABLE_OPEN"


async def test_the_ticket_and_the_list_are_followed(world: Stand, gateway: ServiceServer) -> None:
    token = world.issuer.token("deniz")
    asked = await rpc(gateway, token, "LobbyService/EnqueueTicket", terms=CANAK)
    assert asked["ticket"]["state"] == "TICKET_STATE_WAITING"
    async with browser(gateway, token) as deniz:
        await deniz.say(watch={"ticket": {}})
        assert (await deniz.hear("ticket"))["ticket"]["state"] == "TICKET_STATE_WAITING"
        await deniz.say(watch={"tables": {"seat_count": 2}})
        assert isinstance((await deniz.hear("tables"))["tables"], list)
        made = await rpc(
            gateway,
            world.issuer.token("elif"),
            "LobbyService/CreateTable",
            request_id="table-of-elif",
            terms={"seat_count": 2},
        )
        while made["table_id"] not in str((await deniz.hear("tables"))["tables"]):
            pass
        await deniz.say(unwatch={"tables": {}})
        await rpc(gateway, token, "LobbyService/CancelTicket")
        while (await deniz.hear("ticket"))["ticket"]["state"] != "TICKET_STATE_CANCELLED":
            pass
        end = (await deniz.hear("end"))["end"]
        assert (end["of"], end["reason"]) == ("ticket", "OVER")

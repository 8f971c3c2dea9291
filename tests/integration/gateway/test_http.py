"""HTTP: guests, single calls, refusals, and whom the gateway lets in."""

import asyncio
from typing import Any

import httpx
import pytest
from prometheus_client import REGISTRY

from okey_runtime.identity import Role
from okey_runtime.server import ServiceServer
from services.gateway.guard import HEADERS
from tests.integration.gateway.stand import Frame, Stand, http, url_of


async def post(
    gateway: ServiceServer, path: str, body: Any = None, token: str = "", **headers: str
) -> httpx.Response:
    if token:
        headers["authorization"] = f"Bearer {token}"
    async with http(gateway) as client:
        return await client.post(path, json={} if body is None else body, headers=headers)


def refused(answer: httpx.Response) -> tuple[int, str]:
    """Status and reason; the error has every field that pages rely on."""
    error: Frame = answer.json()
    assert error.keys() >= {"code", "reason", "message", "metadata"}
    assert answer.headers["content-type"] == "application/json"
    return answer.status_code, error["reason"]


async def test_a_guest_plays_under_its_name_and_comes_back_as_the_same(
    gateway: ServiceServer,
) -> None:
    first = (await post(gateway, "session/guest", {"name": "  Ayşe\u202e "})).json()
    assert (first["name"], first["player_id"][:6]) == ("Ayşe", "guest-")
    again = (await post(gateway, "session/guest", {"name": "Ayşe"}, first["token"])).json()
    assert again["player_id"] == first["player_id"]
    other = (await post(gateway, "session/guest", {"name": "Ayşe"})).json()
    assert other["player_id"] != first["player_id"]
    body = {"account": f"player:{first['player_id']}"}
    answer = await post(gateway, "rpc/WalletService/GetAccount", body, first["token"])
    assert (answer.status_code, answer.json()["account"]) == (200, body["account"])


async def test_nobody_but_a_guest_is_made_a_guest(world: Stand, gateway: ServiceServer) -> None:
    """A player of the identity provider would go on as somebody else, without chips."""
    answer = await post(gateway, "session/guest", {"name": "x"}, world.issuer.token("ada"))
    assert refused(answer) == (403, "NOT_A_GUEST")


@pytest.mark.parametrize("name", ["", " \u200b ", 7, None])
async def test_a_guest_needs_a_name_that_can_be_seen(gateway: ServiceServer, name: object) -> None:
    assert refused(await post(gateway, "session/guest", {"name": name})) == (400, "INVALID_FIELD")


async def test_a_guest_learns_which_character_of_its_name_is_refused(
    gateway: ServiceServer,
) -> None:
    answer = await post(gateway, "session/guest", {"name": "\U0001d159"})
    assert refused(answer) == (400, "INVALID_FIELD")
    note = "U+1D159 MUSICAL SYMBOL NULL NOTEHEAD"
    assert answer.json()["metadata"] == {"character": note}
    [violation] = answer.json()["violations"]
    assert (violation["field"], note in violation["description"]) == ("name", True)


async def test_without_a_key_there_are_no_guests(world: Stand) -> None:
    gateway = await world.start_gateway(gateway_guest_key_file=None)
    assert refused(await post(gateway, "session/guest", {"name": "x"})) == (
        404,
        "GUESTS_NOT_OFFERED",
    )
    async with http(gateway) as client:
        assert (await client.get("config.json")).json()["has_guests"] is False


CALLS = {
    "no token": ("RatingService/ListSeasons", {}, None, 401, "TOKEN_MISSING"),
    "bad token": ("RatingService/ListSeasons", {}, "eyJ.x.y", 401, "TOKEN_INVALID"),
    "no player's call": ("TableService/OpenTable", {}, "", 404, "RPC_NOT_OFFERED"),
    "unknown field": ("LobbyService/CreateTable", {"tisch": 1}, "", 400, "MALFORMED_REQUEST"),
    "newer page": (
        "TableService/GetTable",
        {"table_id": "a" * 26, "tisch": {"x": [1]}},
        "",
        404,
        "TABLE_NOT_FOUND",
    ),
    "no object": ("TableService/GetTable", [], "", 400, "MALFORMED_REQUEST"),
    "broken rule": ("TableService/GetTable", {"table_id": "X"}, "", 400, "INVALID_FIELD"),
    "no such table": (
        "TableService/GetTable",
        {"table_id": "a" * 26},
        "",
        404,
        "TABLE_NOT_FOUND",
    ),
    "somebody else's": (
        "WalletService/GetAccount",
        {"account": "player:bob"},
        "",
        403,
        "NOT_OWN_ACCOUNT",
    ),
}


@pytest.mark.parametrize("case", CALLS)
async def test_a_refused_call_tells_status_and_reason(
    world: Stand, gateway: ServiceServer, case: str
) -> None:
    path, body, token, status, reason = CALLS[case]
    token = world.issuer.token("ada") if token == "" else token
    assert refused(await post(gateway, f"rpc/{path}", body, token or "")) == (status, reason)


async def test_a_refused_call_tells_each_field(world: Stand, gateway: ServiceServer) -> None:
    """A page can mark the fields of a form: what a service has refused, and the gateway itself."""
    token = world.issuer.token("ada")
    body = {"table_id": "X", "match_no": 0, "round_no": 1}
    answer = await post(gateway, "rpc/TableService/ListEvents", body, token)
    fields = {each["field"]: each["description"] for each in answer.json()["violations"]}
    assert fields.keys() == {"table_id", "match_no"}
    assert all(fields.values())
    body = {"player_ids": ["x"] * 201}
    answer = await post(gateway, "rpc/TableService/GetDisplayNames", body, token)
    assert [each["field"] for each in answer.json()["violations"]] == ["player_ids"]
    answer = await post(gateway, "rpc/TableService/GetTable", {"table_id": "a" * 26}, token)
    assert "violations" not in answer.json()


async def test_a_refused_table_tells_its_limit(world: Stand, gateway: ServiceServer) -> None:
    terms = {"mode": "MODE_SOLO", "seat_count": 2, "stake": 20_000}
    body = {"request_id": "request-1", "terms": terms, "bot_level": "BOT_LEVEL_EASY"}
    answer = await post(gateway, "rpc/LobbyService/CreateTable", body, world.issuer.token("ada"))
    assert refused(answer) == (400, "INVALID_TABLE_CONFIG")
    told = {"field": "stake", "value": "20000", "allowed": "50..10000"}
    assert answer.json()["metadata"] == told


async def test_roles_are_the_services_to_judge(world: Stand, gateway: ServiceServer) -> None:
    token = world.issuer.token("team", [Role.INTEGRATOR])
    answer = await post(gateway, "rpc/TableService/WhereAmI", {}, token)
    assert refused(answer) == (403, "ROLE_REFUSED")


async def test_calls_at_once_are_each_their_own_players(
    world: Stand, gateway: ServiceServer
) -> None:
    """They share the gateway's channels, so a token must never go with another's call."""
    players = [f"player-{number}" for number in range(12)]

    async def account(player: str) -> str:
        token = world.issuer.token(player)
        body = {"account": f"player:{player}"}
        answer = await post(gateway, "rpc/WalletService/GetAccount", body, token)
        found: str = answer.json().get("account", answer.text)
        return found

    found = await asyncio.gather(*(account(player) for player in players * 3))
    assert found == [f"player:{player}" for player in players * 3]


async def test_a_request_has_a_type_and_a_bound(gateway: ServiceServer) -> None:
    async with http(gateway) as client:
        form = await client.post("session/guest", content='{"name":"x"}')
        huge = await client.post("session/guest", json={"name": "x" * 70_000})
    assert refused(form) == (400, "MALFORMED_REQUEST")
    assert refused(huge) == (400, "REQUEST_TOO_LARGE")


@pytest.mark.parametrize("path", ["config.json", "static/nothing.js", "nothing", "rpc/x/y"])
async def test_every_answer_tells_browsers_what_may_run(gateway: ServiceServer, path: str) -> None:
    async with http(gateway) as client:
        answer = await client.get(path)
    assert HEADERS.items() <= answer.headers.items()
    policy = answer.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "frame-ancestors 'none'" in policy
    assert "unsafe" not in policy


async def test_other_hosts_and_origins_are_refused(gateway: ServiceServer) -> None:
    port = httpx.URL(url_of(gateway)).port
    async with http(gateway) as client:

        async def status(**headers: str) -> tuple[int, str]:
            answer = await client.get("config.json", headers=headers)
            return (200, "") if answer.status_code == 200 else refused(answer)

        assert await status(host="evil.example") == (403, "HOST_REFUSED")
        assert await status(host="127.0.0.1.evil.example") == (403, "HOST_REFUSED")
        assert await status(host=f"LOCALHOST:{port}") == (200, "")
        others = ("http://evil.example", "null", f"http://localhost:{port}", "file://x")
        for origin in (*others, "http://[", "http://[zz]"):
            assert await status(origin=origin) == (403, "ORIGIN_REFUSED")
        assert await status(origin=f"http://127.0.0.1:{port}") == (200, "")


async def test_a_request_for_no_address_is_not_found_and_counted(gateway: ServiceServer) -> None:
    """As ``OPTIONS *``, which names none."""
    labels = {"route": "other", "status": "404"}
    before = REGISTRY.get_sample_value("okey_gateway_requests_total", labels) or 0
    url = httpx.URL(url_of(gateway))
    reader, writer = await asyncio.open_connection(url.host, url.port)
    host = f"{url.host}:{url.port}"
    writer.write(f"OPTIONS * HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n\r\n".encode())
    answer = await reader.read()
    writer.close()
    assert answer.startswith(b"HTTP/1.1 404 "), answer
    assert REGISTRY.get_sample_value("okey_gateway_requests_total", labels) == before + 1


async def test_health_follows_readiness(gateway: ServiceServer) -> None:
    async with http(gateway) as client:
        assert (await client.get("health")).status_code == 200
        await gateway.readiness.block("a test")
        assert (await client.get("health")).status_code == 503
        await gateway.readiness.unblock("a test")

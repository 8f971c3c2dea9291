"""Connections of strangers: how many there may be, and how long each may take."""

import os
import socket
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from okey_runtime.server import ServiceServer
from services.gateway.metrics import REQUESTS
from tests.fixtures.certificates import Authority
from tests.integration.gateway.alone import OPENING, Alone, alone, dropped
from tests.integration.gateway.stand import browser, url_of

HEALTH = b"GET /health HTTP/1.1\r\nhost: localhost\r\n\r\n"
POST = b"POST /session/guest HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n"
HALF = {
    "head": b"GET /health HTTP/1.1\r\nhost: local",
    "body": POST + b"content-length: 100\r\n\r\n{",
    "chunk": POST + b"transfer-encoding: chunked\r\n\r\n5\r\n{",
}


@pytest.mark.parametrize("half", HALF)
async def test_a_request_that_is_not_sent_in_full_is_hung_up_on(tmp_path: Path, half: str) -> None:
    async with alone(
        tmp_path, gateway_request_ms=50, gateway_guest_key_file=tmp_path / "signing-key.json"
    ) as gateway:
        assert (await gateway.exchange(HALF[half])).startswith(b"HTTP/1.1 408 ")


async def test_a_request_has_its_time_also_after_others(tmp_path: Path) -> None:
    async with alone(tmp_path, gateway_request_ms=200) as gateway:
        stranger = await gateway.stranger()
        for _ in range(3):
            await stranger.say(HEALTH)
            assert (await stranger.head()).startswith(b"HTTP/1.1 200 ")
        await stranger.say(HEALTH[:-2])
        assert (await stranger.rest()).startswith(b"HTTP/1.1 408 ")


async def test_one_that_says_nothing_is_hung_up_on(tmp_path: Path) -> None:
    async with alone(tmp_path, gateway_request_ms=50) as gateway:
        assert await gateway.exchange(b"") == b""


async def test_a_body_that_was_refused_is_not_read_without_end(tmp_path: Path) -> None:
    async with alone(tmp_path) as gateway:
        stranger = await gateway.stranger()
        await stranger.say(
            b"POST /nothing HTTP/1.1\r\nhost: localhost\r\ncontent-length: 99999999\r\n\r\n"
        )
        assert (await stranger.head()).startswith(b"HTTP/1.1 404 ")
        before = dropped("REQUEST_TOO_LONG")
        with pytest.raises(ConnectionError):
            await stranger.say(b"x" * 99_999_999)
        assert dropped("REQUEST_TOO_LONG") == before + 1


def keep_little(server: ServiceServer) -> None:
    """Let the kernel keep little of what the gateway sends to later connections."""
    port = urlsplit(url_of(server)).port
    for file in Path("/proc/self/fd").iterdir():
        with suppress(OSError), socket.socket(fileno=os.dup(int(file.name))) as held:
            is_listening = held.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN)
            if is_listening and held.getsockname()[1] == port:
                held.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4_096)


async def test_who_does_not_read_its_answers_is_dropped(tmp_path: Path) -> None:
    ask = b"GET /static/js/words/de.js HTTP/1.1\r\nhost: localhost\r\n\r\n"
    answered = REQUESTS.labels("static", "200")._value
    before = dropped("UNREAD")
    async with alone(tmp_path, gateway_answer_ms=300) as gateway:
        keep_little(gateway.server)
        stranger = await gateway.stranger(receive_bytes=4_096)
        neighbour = await gateway.stranger()
        while dropped("UNREAD") == before:
            count = answered.get()
            with suppress(ConnectionError):
                await stranger.say(ask)
            while answered.get() == count and dropped("UNREAD") == before:
                await neighbour.say(HEALTH)
                await neighbour.head()


async def test_an_address_takes_only_so_many_places(tmp_path: Path) -> None:
    """The longest wait there gives way to a newcomer."""
    async with alone(tmp_path, gateway_strangers_per_address=2) as gateway:
        first, second = await gateway.stranger(), await gateway.stranger()
        await second.say(HEALTH)
        assert (await second.head()).startswith(b"HTTP/1.1 200 ")
        third = await gateway.stranger()
        await third.say(HEALTH)
        assert (await third.head()).startswith(b"HTTP/1.1 200 ")
        assert await first.rest() == b""
        await second.say(HEALTH)
        assert (await second.head()).startswith(b"HTTP/1.1 200 ")


async def test_no_address_takes_the_places_of_others(tmp_path: Path) -> None:
    async with alone(tmp_path, gateway_strangers=4) as gateway:
        neighbour = await gateway.stranger("127.0.0.3")
        crowd = [await gateway.stranger("127.0.0.2") for _ in range(3)]
        stranger = await gateway.stranger()
        assert await crowd[0].rest() == b""
        for served in (stranger, neighbour):
            await served.say(HEALTH)
            assert (await served.head()).startswith(b"HTTP/1.1 200 ")


async def test_sockets_without_a_hello_take_no_players_place(tmp_path: Path) -> None:
    """Neither in all, nor those of one address."""
    bounds: dict[str, Any] = {
        "gateway_connections": 2,
        "gateway_hellos": 8,
        "gateway_hellos_per_address": 4,
    }
    async with alone(tmp_path, **bounds) as gateway:
        ada, bob = gateway.issuer.token("ada"), gateway.issuer.token("bob")
        async with browser(gateway.server, ada) as early:
            await early.hear("welcome")
            crowd = []
            for number in range(40):
                crowd.append(await gateway.stranger(f"127.0.1.{number % 4}"))
                await crowd[-1].websocket()
            async with browser(gateway.server, bob) as late:
                await late.hear("welcome")
                await early.say(ping={"id": 1})
                assert (await early.hear())["pong"]["id"] == 1
        for gone in crowd[:24]:
            await gone.rest()


async def test_an_address_opens_only_so_many_sockets_in_a_second(tmp_path: Path) -> None:
    before = dropped("CROWDED")
    async with alone(tmp_path, gateway_opens_per_s=1, gateway_opens_burst=2) as gateway:
        early = [await gateway.stranger("127.0.0.2") for _ in range(2)]
        for each in early:
            await each.websocket()
        late, other = await gateway.stranger("127.0.0.2"), await gateway.stranger("127.0.0.3")
        await late.say(OPENING + b"\r\n")
        assert await late.rest() == b""
        await other.websocket()
    assert dropped("CROWDED") == before + 1


async def test_a_request_before_the_answer_to_the_last_one_ends_the_connection(
    tmp_path: Path,
) -> None:
    before = dropped("PIPELINED")
    async with alone(tmp_path) as gateway:
        answers = await gateway.exchange(HEALTH * 100)
        assert answers.count(b"HTTP/1.1 200 ") <= 1
        await is_alive(gateway)
    assert dropped("PIPELINED") == before + 1


async def test_only_a_proxy_that_is_trusted_says_who_comes(tmp_path: Path) -> None:
    bounds: dict[str, Any] = {"gateway_proxies": "127.0.0.0/8", "gateway_hellos_per_address": 1}
    async with alone(tmp_path, **bounds) as gateway:
        first, second, third = [await gateway.stranger() for _ in range(3)]
        await first.websocket("x-forwarded-for: 192.0.2.9, 192.0.2.1")
        await second.websocket("x-forwarded-for: 192.0.2.9, 192.0.2.2, 127.0.0.9")
        await third.websocket("x-forwarded-for: 192.0.2.1")
        assert await first.rest() == b""
        await second.hello(gateway.issuer.token("ada"))


async def test_an_address_behind_a_proxy_has_so_many_requests_under_way(tmp_path: Path) -> None:
    """The proxy's connections are many; half-sent bodies of one caller take no other's place."""
    bounds: dict[str, Any] = {"gateway_proxies": "127.0.0.0/8", "gateway_strangers_per_address": 1}
    key = tmp_path / "signing-key.json"
    async with alone(tmp_path, gateway_guest_key_file=key, **bounds) as gateway:
        half, again, other = [await gateway.stranger() for _ in range(3)]
        await half.say(
            POST
            + b"x-forwarded-for: 192.0.2.1\r\nexpect: 100-continue\r\ncontent-length: 9\r\n\r\n"
        )
        assert (await half.head()).startswith(b"HTTP/1.1 100 ")  # its body is waited for
        close = b"connection: close\r\n\r\n"
        await again.say(HEALTH[:-2] + b"x-forwarded-for: 192.0.2.1\r\n" + close)
        refused = await again.rest()
        assert refused.startswith(b"HTTP/1.1 429 ")
        assert b"ADDRESS_BUSY" in refused
        await other.say(HEALTH[:-2] + b"x-forwarded-for: 192.0.2.2\r\n" + close)
        assert (await other.rest()).startswith(b"HTTP/1.1 200 ")


async def test_nobody_else_is_believed(tmp_path: Path) -> None:
    async with alone(tmp_path, gateway_hellos_per_address=1) as gateway:
        first, second = await gateway.stranger(), await gateway.stranger()
        await first.websocket("x-forwarded-for: 192.0.2.1")
        await second.websocket("x-forwarded-for: 192.0.2.2")
        assert await first.rest() == b""


async def test_a_handshake_that_is_never_finished_is_dropped(tmp_path: Path) -> None:
    tls = Authority(tmp_path).issue("gateway", "localhost").settings()
    async with alone(
        tmp_path, gateway_request_ms=50, gateway_strangers_per_address=8, **tls
    ) as gateway:
        assert await gateway.exchange(b"") == b""
        assert await gateway.exchange(b"\x16\x03\x01\x02\x00") == b""


async def is_alive(gateway: Alone) -> None:
    assert b" 200 " in await gateway.exchange(HEALTH[:-2] + b"connection: close\r\n\r\n")


async def test_too_many_bad_tokens_of_an_address_are_not_looked_at(tmp_path: Path) -> None:
    async with alone(tmp_path, bad_tokens_per_s=1, bad_tokens_burst=2) as gateway:
        known = gateway.issuer.token("ada")
        ask = (
            b"POST /rpc/TableService/GetTable HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n"
        )

        async def answer(token: str) -> str:
            head = f"authorization: Bearer {token}\r\ncontent-type: text/plain\r\n"
            content = await gateway.exchange(ask + head.encode() + b"content-length: 0\r\n\r\n")
            return content.decode().splitlines()[0]

        assert "400" in await answer(known)
        assert [await answer(f"eyJ.x.{number}") for number in range(3)] == [
            "HTTP/1.1 401 Unauthorized",
            "HTTP/1.1 401 Unauthorized",
            "HTTP/1.1 429 Too Many Requests",
        ]
        assert "400" in await answer(known)

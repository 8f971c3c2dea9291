"""Forms of HTTP that are refused, and which pages of other hosts may call."""

import io
import logging
from pathlib import Path

import orjson
import pytest

from okey_runtime.clock import SystemClock, VirtualClock
from okey_runtime.library_noise import LibraryNoise
from okey_runtime.line_quota import LineQuota
from services.gateway.settings import GatewaySettings
from tests.integration.gateway.alone import Alone, alone

HOST = b"host: localhost\r\n"
JSON = HOST + b"content-type: application/json\r\n"
RPC = b"POST /rpc/TableService/GetTable HTTP/1.1\r\n" + JSON
BAD_HEADS = {
    "both framings": (RPC + b"content-length: 2\r\ntransfer-encoding: chunked\r\n", 400),
    "two lengths": (RPC + b"content-length: 2\r\ncontent-length: 3\r\n", 400),
    "no length": (RPC + b"content-length: 1e3\r\n", 400),
    "odd coding": (RPC + b"transfer-encoding: xchunked\r\n", 400),
    "space before colon": (b"GET /health HTTP/1.1\r\n" + HOST + b"a : b\r\n", 400),
    "two hosts": (b"GET /health HTTP/1.1\r\n" + HOST + HOST, 400),
    "folded": (b"GET /health HTTP/1.1\r\n" + HOST + b" c\r\nx: 1\r\n", 403),
    "gzip": (RPC + b"content-encoding: gzip\r\ncontent-length: 2\r\n", 415),
    "long address": (b"GET /%s HTTP/1.1\r\n" % (b"x" * 2_048) + HOST, 414),
    "long query": (b"GET /?%s HTTP/1.1\r\n" % (b"x" * 2_048) + HOST, 414),
    "many headers": (b"GET /health HTTP/1.1\r\n" + HOST + b"a: b\r\n" * 100, 431),
    "long header": (b"GET /health HTTP/1.1\r\n" + HOST + b"a: %s\r\n" % (b"x" * 8_001), 431),
    "long head": (b"GET /health HTTP/1.1\r\n" + HOST + b"a: %s\r\n" % (b"x" * 40_000), 400),
    "many short headers": (b"GET /health HTTP/1.1\r\n" + HOST + b"a:b\r\n" * 20_000, 400),
    "another protocol": (b"PRI * HTTP/2.0\r\n", 403),
}


@pytest.mark.parametrize("case", BAD_HEADS)
async def test_a_head_that_is_not_served_ends_the_connection(tmp_path: Path, case: str) -> None:
    head, status = BAD_HEADS[case]
    async with alone(tmp_path) as gateway:
        answer = await gateway.exchange(head + b"connection: close\r\n\r\n")
        assert answer.startswith(b"HTTP/1.1 %d " % status), answer
        assert answer.count(b"HTTP/1.1") == 1


async def test_what_follows_an_ambiguous_body_is_no_request(tmp_path: Path) -> None:
    """Of two framings a proxy before us may believe the other one."""
    smuggled = b"0\r\n\r\nGET /health HTTP/1.1\r\n" + HOST + b"\r\n"
    head = RPC + b"content-length: %d\r\ntransfer-encoding: chunked\r\n\r\n" % len(smuggled)
    async with alone(tmp_path) as gateway:
        answer = await gateway.exchange(head + smuggled)
        assert answer.startswith(b"HTTP/1.1 400 ")
        assert answer.count(b"HTTP/1.1") == 1


@pytest.mark.parametrize(
    ("head", "status"),
    [
        (b"GET http://localhost/health HTTP/1.1\r\n" + HOST, 404),
        (b"GET /health HTTP/1.0\r\nconnection: keep-alive\r\n" + HOST, 200),
        (b"GET /health HTTP/1.0\r\n", 403),
    ],
)
async def test_old_and_absolute_forms_do_no_harm(tmp_path: Path, head: bytes, status: int) -> None:
    async with alone(tmp_path) as gateway:
        close = b"" if b"HTTP/1.0" in head else b"connection: close\r\n"
        answer = await gateway.exchange(head + close + b"\r\n")
        assert answer.startswith(b"HTTP/1.1 %d " % status)


async def test_a_body_is_asked_for_only_where_it_is_read(tmp_path: Path) -> None:
    """``Expect: 100-continue`` of a request that is refused for its head is not fulfilled."""
    async with alone(tmp_path) as gateway:
        token = gateway.issuer.token("ada").encode()
        expecting = b"expect: 100-continue\r\nconnection: close\r\ncontent-length: "
        stranger = await gateway.stranger()
        await stranger.say(RPC + expecting + b"2\r\n\r\n")
        assert (await stranger.rest()).startswith(b"HTTP/1.1 401 ")
        ada = RPC + b"authorization: Bearer " + token + b"\r\n" + expecting
        too_long = await gateway.stranger()
        await too_long.say(ada + b"4097\r\n\r\n")
        told = await too_long.rest()
        assert told.startswith(b"HTTP/1.1 400 ")
        assert b'"reason":"REQUEST_TOO_LARGE"' in told
        fitting = await gateway.stranger()
        await fitting.say(ada + b"2\r\n\r\n")
        assert (await fitting.head()).startswith(b"HTTP/1.1 100 ")
        await fitting.say(b"[]")
        assert b"MALFORMED_REQUEST" in await fitting.rest()


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (b"[" * 4_000, b"MALFORMED_REQUEST"),
        (b'{"a":' * 800, b"MALFORMED_REQUEST"),
        (b'{"table_id":' + b"1" * 4_000 + b"}", b"MALFORMED_REQUEST"),
        (b'{"table_id":"' + b"a" * 4_096 + b'"}', b"REQUEST_TOO_LARGE"),
    ],
)
async def test_deep_and_long_bodies_are_refused(tmp_path: Path, body: bytes, reason: bytes) -> None:
    async with alone(tmp_path) as gateway:
        token = gateway.issuer.token("ada").encode()
        head = RPC + b"connection: close\r\nauthorization: Bearer " + token
        length = b"\r\ncontent-length: %d\r\n\r\n" % len(body)
        for rest in (length + body, b"\r\ntransfer-encoding: chunked\r\n\r\n" + chunks(body)):
            answer = await gateway.exchange(head + rest)
            assert answer.startswith(b"HTTP/1.1 400 ")
            assert b'"reason":"%s"' % reason in answer


def chunks(body: bytes) -> bytes:
    """The body in one chunk."""
    return b"%x\r\n%s\r\n0\r\n\r\n" % (len(body), body)


@pytest.mark.parametrize(
    ("limits", "reason"),
    [
        ({"calls_per_s": 1, "calls_burst": 2}, b"RATE_LIMITED"),
        ({"cost_per_s": 1, "cost_burst": 2}, b"BUDGET_SPENT"),
    ],
)
async def test_a_player_who_calls_too_often_is_refused_before_its_body_is_read(
    tmp_path: Path, limits: dict[str, int], reason: bytes
) -> None:
    async with alone(tmp_path, VirtualClock(SystemClock().now_ms()), **limits) as gateway:

        async def answer_to(player: str) -> bytes:
            token = gateway.issuer.token(player).encode()
            head = RPC + b"connection: close\r\nauthorization: Bearer " + token
            return await gateway.exchange(head + b"\r\ncontent-length: 2\r\n\r\n[]")

        for _ in range(2):
            assert b"MALFORMED_REQUEST" in await answer_to("ada")
        refused = await answer_to("ada")
        assert refused.startswith(b"HTTP/1.1 429 ")
        assert b'"reason":"%s"' % reason in refused
        assert b'"retry_after_ms":' in refused
        assert b"MALFORMED_REQUEST" in await answer_to("bea"), "each player has its own"


UPGRADE = b"connection: upgrade\r\nupgrade: websocket\r\n"


@pytest.mark.parametrize(
    ("head", "status"),
    [
        (b"POST /ws HTTP/1.1\r\n" + HOST + UPGRADE + b"content-length: 0\r\n", 404),
        (b"GET /ws HTTP/1.1\r\n" + HOST + UPGRADE + b"a: b\r\n" * 100, 431),
        (b"GET /ws HTTP/1.1\r\n" + HOST + UPGRADE + b"a: %s\r\n" % (b"x" * 9_000), 431),
        (b"GET /nothing HTTP/1.1\r\n" + HOST + b"connection: upgrade\r\nupgrade: h2c\r\n", 404),
    ],
)
async def test_an_upgrade_that_cannot_be_is_answered(
    tmp_path: Path, head: bytes, status: int
) -> None:
    async with alone(tmp_path, gateway_request_ms=500) as gateway:
        answer = await gateway.exchange(head + b"\r\n")
        assert answer.startswith(b"HTTP/1.1 %d " % status), answer


ABORTED = {
    "body": RPC + b"authorization: Bearer %s\r\ncontent-length: 100\r\n\r\n{",
    "chunks": RPC + b"authorization: Bearer %s\r\ntransfer-encoding: chunked\r\n\r\n5\r\n{",
    "broken chunk": RPC + b"authorization: Bearer %s\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n",
    "broken chunk after the answer": RPC + b"x: %s\r\ntransfer-encoding: chunked\r\n\r\n0\r\n",
}


@pytest.mark.parametrize("case", ABORTED)
async def test_a_request_that_breaks_off_is_no_error(
    tmp_path: Path, case: str, caplog: pytest.LogCaptureFixture
) -> None:
    async with alone(tmp_path) as gateway:
        for _ in range(3):
            stranger = await gateway.stranger()
            await stranger.say(ABORTED[case] % gateway.issuer.token("ada").encode())
            if case == "broken chunk after the answer":
                assert (await stranger.head()).startswith(b"HTTP/1.1 401 ")
                await stranger.say(b"garbage garbage\r\n\r\n")
                await stranger.rest()
            stranger.close()
        await until_nobody_is_served(gateway)
    assert [record for record in caplog.records if record.levelno >= logging.ERROR] == []


async def test_what_is_no_http_is_one_line(tmp_path: Path) -> None:
    lines = io.StringIO()
    handler = logging.StreamHandler(lines)
    handler.addFilter(LibraryNoise(LineQuota(VirtualClock())))
    logger = logging.getLogger("uvicorn.error")
    logger.addHandler(handler)
    try:
        async with alone(tmp_path) as gateway:
            for _ in range(20):
                assert b" 400 " in await gateway.exchange(b"\x16\x03\x01 garbage\r\n\r\n")
    finally:
        logger.removeHandler(handler)
    assert lines.getvalue() == "Invalid HTTP request received.\n"


async def until_nobody_is_served(gateway: Alone) -> None:
    """Requests are answered one after another, so those before this one are over."""
    close = b"connection: close\r\n\r\n"
    assert b" 200 " in await gateway.exchange(b"GET /health HTTP/1.1\r\n" + HOST + close)


PAGE = "https://play.example.org"
ASKS = b"access-control-request-method: POST\r\naccess-control-request-headers: authorization\r\n"


async def answer(gateway: Alone, line: str, origin: str, more: bytes = b"") -> dict[str, str]:
    """The answer's headers, and its ``status``."""
    head = f"{line} HTTP/1.1\r\nhost: localhost\r\norigin: {origin}\r\nconnection: close\r\n"
    content = (await gateway.exchange(head.encode() + more + b"\r\n")).decode()
    first, *lines = content.partition("\r\n\r\n")[0].split("\r\n")
    headers = dict(line.lower().split(": ", 1) for line in lines)
    return {**headers, "status": first.split()[1]}


async def test_configured_origins_may_call(tmp_path: Path) -> None:
    async with alone(tmp_path, gateway_origins=f"{PAGE}, http://localhost:8000") as gateway:
        told = await answer(gateway, "OPTIONS /rpc/TableService/GetTable", PAGE, ASKS)
        assert told["status"] == "204"
        assert told["access-control-allow-origin"] == PAGE
        assert told["access-control-allow-methods"] == "get, post"
        assert told["access-control-allow-headers"] == "authorization, content-type"
        assert told["vary"] == "origin"
        refused = await answer(gateway, "POST /rpc/TableService/GetTable", PAGE)
        assert (refused["status"], refused["access-control-allow-origin"]) == ("401", PAGE)
        own = await answer(gateway, "GET /config.json", "http://localhost")
        assert (own["status"], own["vary"]) == ("200", "origin")
        assert "access-control-allow-origin" not in own
        for headers in (told, refused, own):
            assert "access-control-allow-credentials" not in headers


@pytest.mark.parametrize(
    "origin",
    [
        "https://evil.example",
        "https://play.example.org.evil.example",
        "http://play.example.org",
        "https://play.example.org:8443",
        "null",
        "*",
    ],
)
async def test_other_origins_learn_nothing(tmp_path: Path, origin: str) -> None:
    async with alone(tmp_path, gateway_origins=PAGE) as gateway:
        for line in ("OPTIONS /rpc/TableService/GetTable", "GET /config.json"):
            told = await answer(gateway, line, origin, ASKS)
            assert told["status"] == "403"
            assert not any(name.startswith("access-control-") for name in told)


async def test_by_default_no_origin_may_call(tmp_path: Path) -> None:
    async with alone(tmp_path) as gateway:
        told = await answer(gateway, "OPTIONS /rpc/TableService/GetTable", PAGE, ASKS)
        assert (told["status"], "access-control-allow-origin" in told) == ("403", False)


async def test_a_websocket_follows_the_same_list(tmp_path: Path) -> None:
    async with alone(tmp_path, gateway_origins=PAGE) as gateway:
        await (await gateway.stranger()).websocket(f"origin: {PAGE}")
        with pytest.raises(AssertionError, match="403 Forbidden"):
            await (await gateway.stranger()).websocket("origin: https://evil.example")


@pytest.mark.parametrize(
    "origins",
    ["*", "https://*.example.org", "https://a.example/", "a.example", "ftp://a", "https://u@a.b"],
)
def test_an_origin_is_exact(origins: str) -> None:
    with pytest.raises(ValueError, match=r"is no origin|names no single host"):
        GatewaySettings._origins_are_exact(origins)


async def test_browsers_keep_to_https_where_it_is_spoken(tmp_path: Path) -> None:
    async with alone(tmp_path, gateway_tls_ends_before=True) as gateway:
        told = await answer(gateway, "GET /health", "http://localhost")
        assert told["strict-transport-security"] == "max-age=31536000"


async def test_plain_http_promises_nothing(tmp_path: Path) -> None:
    async with alone(tmp_path) as gateway:
        assert "strict-transport-security" not in await answer(
            gateway, "GET /health", "http://localhost"
        )


async def test_a_refusal_says_what_is_wrong(tmp_path: Path) -> None:
    async with alone(tmp_path) as gateway:
        head, _ = BAD_HEADS["gzip"]
        content = (await gateway.exchange(head + b"\r\n")).partition(b"\r\n\r\n")[2]
        told = orjson.loads(content)
        assert told["reason"] == "MALFORMED_REQUEST"
        assert "not as 'gzip'" in told["message"]

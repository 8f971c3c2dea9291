"""What a WebSocket's peer may make the gateway do: control frames, fragments, broken frames."""

import asyncio
import gc
import logging
from pathlib import Path

import pytest

from okey_runtime.clock import SystemClock, VirtualClock
from services.gateway.session import Session
from services.gateway.web_socket import PlayersSocket
from tests.integration.gateway.alone import Alone, Stranger, alone, dropped, masked

TEXT, CONTINUED, PING, PONG = 0x01, 0x00, 0x89, 0x8A
LAST = 0x80
FLOODS = {
    "pings": masked(PING) * 100,
    "pongs": masked(PONG, b"x") * 100,
    "empty fragments": masked(TEXT) + masked(CONTINUED) * 100,
    "one byte each": masked(TEXT, b"{") + masked(CONTINUED, b" ") * 100,
    "pings between fragments": masked(TEXT) + (masked(CONTINUED) + masked(PING)) * 100,
}
BROKEN = {
    "no UTF-8": (masked(LAST | TEXT, b"\xff"), 1007),
    "no UTF-8 in fragments": (masked(TEXT, b"{") + masked(LAST | CONTINUED, b"\xff"), 1007),
    "compressed": (masked(LAST | 0x40 | TEXT, b"x"), 1002),
    "reserved opcode": (masked(LAST | 0x03), 1002),
    "no mask": (b"\x81\x00", 1002),
    "no message to continue": (masked(LAST | CONTINUED), 1002),
    "ping in fragments": (masked(0x09), 1002),
    "long close": (masked(0x88, b"\x00"), 1002),
}


async def hang_up(stranger: Stranger) -> int:
    code = await stranger.close_code()
    await stranger.rest()
    return code


@pytest.mark.parametrize("flood", FLOODS)
async def test_control_frames_and_fragments_are_bounded(tmp_path: Path, flood: str) -> None:
    async with alone(tmp_path) as gateway:
        stranger = await gateway.stranger()
        await stranger.websocket()
        await stranger.say(FLOODS[flood])
        assert await hang_up(stranger) == 1008


async def test_a_ping_now_and_then_is_answered(tmp_path: Path) -> None:
    async with alone(tmp_path) as gateway:
        stranger = await gateway.stranger()
        await stranger.websocket()
        for _ in range(20):
            await stranger.say(masked(PING, b"hello"))
            assert await stranger.frame() == (PONG, b"hello")


@pytest.mark.parametrize("case", BROKEN)
async def test_a_broken_frame_is_answered_with_a_code_and_no_line(
    tmp_path: Path, case: str, caplog: pytest.LogCaptureFixture
) -> None:
    frame, code = BROKEN[case]
    async with alone(tmp_path) as gateway:
        stranger = await gateway.stranger()
        await stranger.websocket()
        await stranger.say(frame)
        assert await hang_up(stranger) == code
    assert [record for record in caplog.records if record.levelno >= logging.WARNING] == []


async def test_messages_in_some_fragments_are_read(tmp_path: Path) -> None:
    async with alone(tmp_path) as gateway:
        stranger = await gateway.stranger()
        await stranger.websocket()
        fragments = [masked(CONTINUED, b" ") for _ in range(60)]
        await stranger.say(masked(TEXT, b'{"ping"') + b"".join(fragments))
        await stranger.say(masked(LAST | CONTINUED, b": {}}"))
        assert b"HELLO_EXPECTED" in (await stranger.frame())[1]


async def test_nothing_is_compressed_whatever_is_offered(tmp_path: Path) -> None:
    async with alone(tmp_path) as gateway:
        stranger = await gateway.stranger()
        head = await stranger.websocket("sec-websocket-extensions: permessage-deflate")
        assert b"extensions" not in head.lower()


@pytest.mark.parametrize("late", ["never reads", "never closes"])
async def test_a_socket_without_a_hello_goes_in_the_end(tmp_path: Path, late: str) -> None:
    """Also where its peer does not answer the close."""
    async with alone(tmp_path, gateway_hello_ms=50) as gateway:
        stranger = await gateway.stranger()
        await stranger.websocket()
        if late == "never closes":
            assert b"HELLO_EXPECTED" in (await stranger.frame())[1]
        await stranger.rest()


async def test_a_player_that_reads_nothing_is_not_read_and_goes(tmp_path: Path) -> None:
    """It has room for a few kilobytes, and asks for more and more."""
    before = dropped("UNREAD")
    async with alone(tmp_path, gateway_unread_ms=100) as gateway:
        stranger = await gateway.stranger(receive_bytes=4_096)
        await stranger.websocket()
        await stranger.hello(gateway.issuer.token("ada"))
        asking = asyncio.create_task(_ask_for_ever(stranger))
        while dropped("UNREAD") == before:
            other = await gateway.stranger()
            await other.websocket()
            other.close()
        with pytest.raises(ConnectionError):
            await asking


async def _ask_for_ever(stranger: Stranger) -> None:
    unusable = masked(LAST | TEXT, b'{"%s": {}}' % (b"x" * 100))
    while True:
        await stranger.say(unusable * 100)


async def test_a_players_frames_are_read_no_faster_than_it_may_call(tmp_path: Path) -> None:
    """The first ones at once, as many as the burst has; then the clock decides."""
    clock = VirtualClock(SystemClock().now_ms())
    pace = {"calls_per_s": 1, "calls_burst": 3}
    async with alone(tmp_path, clock, **pace) as gateway:
        ada = await gateway.stranger()
        await ada.websocket()
        await ada.hello(gateway.issuer.token("ada"))
        await ada.say(masked(LAST | TEXT, b'{"ping": {}}') * 5)
        first = [await ada.frame() for _ in range(4)]
        clock.advance_ms(1_001)
        assert await ada.frame() not in first


async def test_a_socket_that_goes_leaves_nothing_to_collect(tmp_path: Path) -> None:
    """Garbage is looked for seldom, so thousands of strangers would be kept until then."""
    async with alone(tmp_path, gateway_hellos_per_address=1) as gateway:
        gc.collect()
        gc.disable()
        try:
            for _ in range(5):
                await (await gateway.stranger()).websocket()
            await served(gateway)
            kept = [each for each in gc.get_objects() if isinstance(each, PlayersSocket | Session)]
            assert len(kept) <= 2
        finally:
            gc.enable()


async def served(gateway: Alone) -> None:
    """A turn of the loop or two later."""
    close = b"GET /health HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n"
    assert b" 200 " in await gateway.exchange(close)

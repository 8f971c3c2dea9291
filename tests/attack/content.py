"""Costly content: what a victim would inflate, parse or look through."""

import asyncio
import gzip
import zlib
from collections.abc import Iterator
from functools import partial
from typing import Final

from tests.attack.http2 import Http2, grpc_headers, grpc_message
from tests.attack.raid import Attack, Raid

CALLS: Final = {
    "engine": "/okey.api.engine.v1.TableService/GetDisplayNames",
    "lobby": "/okey.api.lobby.v1.LobbyService/ListTables",
    "wallet": "/okey.api.wallet.v1.WalletService/GetAccount",
    "rating": "/okey.api.rating.v1.RatingService/GetRatings",
    "bots": "/okey.api.bots.v1.BotService/ChooseAction",
}
"""A call of each service, the one with the longest list where there is one."""

PUBLIC: Final = ("engine", "lobby", "wallet", "rating")
"""Which of them Envoy passes on."""

_INFLATED: Final = 64 << 20
_ITEMS: Final = 500_000
_DEEP: Final = 500_000
_BOMBS_PER_S: Final = 2
_MESSAGES_PER_S: Final = 2


def over(raid: Raid, way: str) -> Iterator[tuple[str, str]]:
    """Each address that this way leads to, with a call that is served there."""
    if way == "edge":
        return ((raid.aim.edge, CALLS[kind]) for kind in PUBLIC)
    return ((address, CALLS[kind]) for kind, address in raid.aim.services.items() if kind in CALLS)


def bombs(way: str) -> Attack:
    """Compressed messages of 64 KiB, each 64 MiB when inflated; nobody's."""

    async def attack(raid: Raid) -> None:
        hole = bytes(_INFLATED)
        packed = {"gzip": gzip.compress(hole, 9), "deflate": zlib.compress(hole, 9)}
        await raid.go()

        async def at(address: str, path: str) -> None:
            async def once(number: int) -> None:
                name = ("gzip", "deflate")[number % 2]
                peer = await Http2.open(raid, address)
                block = grpc_headers(path, ("grpc-encoding", name))
                await peer.call(block, grpc_message(packed[name], is_compressed=True))
                await peer.hear()

            await raid.again_and_again(_BOMBS_PER_S, once, at_once=4)

        await raid.side_by_side(at(*each) for each in over(raid, way))

    return attack


def messages(way: str, *, has_token: bool) -> Attack:
    """Messages of 1 MB: half a million list items, deep nesting, wrong UTF-8, unknown fields."""

    async def attack(raid: Raid) -> None:
        bodies = [grpc_message(each) for each in _costly()]
        token = (("authorization", f"Bearer {raid.aim.players[0]}"),) if has_token else ()
        await raid.go()

        async def once(address: str, path: str, number: int) -> None:
            peer = await Http2.open(raid, address)
            await peer_call(peer, grpc_headers(path, *token), bodies[number % len(bodies)])

        await raid.side_by_side(
            raid.again_and_again(_MESSAGES_PER_S, partial(once, *each), at_once=8)
            for each in over(raid, way)
        )

    return attack


async def peer_call(peer: Http2, block: bytes, body: bytes) -> None:
    """Send a call while reading what comes, since a long body needs the peer's windows."""
    hearing = asyncio.create_task(peer.hear())
    try:
        await peer.call(block, body)
        await hearing
    finally:
        hearing.cancel()


def _costly() -> Iterator[bytes]:
    yield b"\x0a\x00" * _ITEMS
    yield b"\x0b" * _DEEP
    yield b"\x0a" + _varint(1_000_000) + b"\xff" * 1_000_000
    yield b"\xf8\x07\x01" * (1_000_000 // 3)
    yield _nested(40_000)


def _nested(depth: int) -> bytes:
    """Messages in messages in field 1, which is a message, a string or a list."""
    pieces, size = list[bytes](), 0
    while size < 1_000_000 and depth:
        head = b"\x0a" + _varint(size)
        pieces.append(head)
        size += len(head)
        depth -= 1
    return b"".join(reversed(pieces))


def _varint(number: int) -> bytes:
    out = bytearray()
    while number >= 128:
        out.append(number % 128 | 128)
        number //= 128
    out.append(number)
    return bytes(out)

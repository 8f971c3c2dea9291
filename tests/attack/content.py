"""Costly content: what a victim would inflate, parse or look through."""

import asyncio
import gzip
import zlib
from collections.abc import Iterator
from typing import Final

from tests.attack.http2 import Http2, keep_on
from tests.attack.raid import Attack, Raid
from tests.http2 import grpc_message, header_block

CALLS: Final = {
    "engine": "/okey.api.engine.v1.TableService/GetDisplayNames",
    "lobby": "/okey.api.lobby.v1.LobbyService/ListTables",
    "wallet": "/okey.api.wallet.v1.WalletService/StartMatch",
    "rating": "/okey.api.rating.v1.RatingService/RecordMatch",
    "bots": "/okey.api.bots.v1.BotService/ChooseAction",
}
"""A call of each service, the one with the costliest list where there is one."""

PUBLIC_CALLS: Final = {
    "wallet": "/okey.api.wallet.v1.WalletService/GetAccount",
    "rating": "/okey.api.rating.v1.RatingService/GetRatings",
}
"""What an edge passes on beside those, for services whose costliest call is an internal one."""

_NOT_PUBLIC: Final = "bots"
_INFLATED: Final = 64 << 20
_MOST: Final = 1_000_000
"""Bytes of a message; gRPC takes 1 MiB at most."""
_LISTS: Final = {
    "engine": b"\x0a\x00",
    "lobby": b"\xfa\x07\x00",
    "wallet": b"\x42\x00",
    "rating": b"\x2a\x00",
    "bots": b"\x4a\x00",
}
"""One empty item of each call's list; the lobby has none, and gets unknown fields."""

_BOMBS_PER_S: Final = 25
_BURST: Final = 60
_HOLES_EVERY: Final = 10
_MESSAGES_PER_S: Final = 3


def over(raid: Raid, way: str) -> Iterator[tuple[str, str, str]]:
    """Each address that this way leads to, with a call and the service that it is of."""
    for kind, path in CALLS.items():
        if way == "direct" and kind in raid.aim.services:
            yield raid.aim.services[kind], path, kind
        elif way == "edge" and kind != _NOT_PUBLIC:
            yield raid.aim.edge, path, kind
            if kind in PUBLIC_CALLS:
                yield raid.aim.edge, PUBLIC_CALLS[kind], kind


def bombs(way: str) -> Attack:
    """Small messages that inflate: half a million list items in 1 MB, from about 1 kB; each tenth
    one 64 MiB of nothing, from 64 kB. Nobody's.
    """

    async def attack(raid: Raid) -> None:
        hole = bytes(_INFLATED)
        holes = {"gzip": gzip.compress(hole, 9), "deflate": zlib.compress(hole, 9)}
        lists = {
            kind: {
                "gzip": gzip.compress(a_list(kind), 9),
                "deflate": zlib.compress(a_list(kind), 9),
            }
            for kind in _LISTS
        }
        await raid.go()

        def of(kind: str) -> "Throw":
            return Throw(holes, lists[kind])

        await raid.side_by_side(
            keep_on(raid, address, path, of(kind).act) for address, path, kind in over(raid, way)
        )

    return attack


class Throw:
    """Bombs by encoding: those that are one long list, and those that are a hole."""

    def __init__(self, holes: dict[str, bytes], lists: dict[str, bytes]) -> None:
        self._holes = holes
        self._lists = lists

    async def act(self, raid: Raid, peer: Http2, path: str) -> None:
        """Throw them at a rate."""
        async for number in raid.ticks(_BOMBS_PER_S, _BURST):
            name = ("gzip", "deflate")[number % 2]
            packed = (self._lists if (number + 1) % _HOLES_EVERY else self._holes)[name]
            body = grpc_message(packed, is_compressed=True)
            await peer.call(header_block(path, [("grpc-encoding", name)]), body)


def messages(way: str) -> Attack:
    """Messages of 1 MB, nobody's."""
    return _messages(way, has_token=False)


def player_messages(way: str) -> Attack:
    """The same with a player's token."""
    return _messages(way, has_token=True)


def _messages(way: str, *, has_token: bool) -> Attack:
    """Messages of 1 MB: half a million list items, deep nesting, wrong UTF-8, unknown fields."""

    async def attack(raid: Raid) -> None:
        token = (("authorization", f"Bearer {raid.aim.players[0]}"),) if has_token else ()
        bodies = {kind: [grpc_message(each) for each in _costly(kind)] for kind in CALLS}
        await raid.go()

        async def at(address: str, path: str, kind: str) -> None:
            async def act(raid: Raid, peer: Http2, path: str) -> None:
                sending = set[asyncio.Task[None]]()
                block, own = header_block(path, token), bodies[kind]
                async for number in raid.ticks(_MESSAGES_PER_S):
                    sending.add(asyncio.create_task(peer.call(block, own[number % len(own)])))
                await asyncio.gather(*sending, return_exceptions=True)

            await keep_on(raid, address, path, act)

        await raid.side_by_side(at(*each) for each in over(raid, way))

    return attack


def a_list(kind: str) -> bytes:
    """The longest list of empty items that fits into a message of that service's call."""
    item = _LISTS[kind]
    items = item * (_MOST // len(item))
    return b"\x0a" + _varint(len(items)) + items if kind == "bots" else items


def _costly(kind: str) -> Iterator[bytes]:
    yield a_list(kind)
    yield b"\x0b" * (_MOST // 2)
    yield b"\x0a" + _varint(_MOST) + b"\xff" * _MOST
    yield b"\xf8\x07\x01" * (_MOST // 3)
    yield _nested(_MOST // 4)


def _nested(depth: int) -> bytes:
    """Field 1 in field 1, whether that is a message, a string or a list."""
    pieces, size = list[bytes](), 0
    while depth and size < _MOST:
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

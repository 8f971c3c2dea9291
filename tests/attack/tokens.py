"""Bad tokens by the thousand, and whatever else might fill a log."""

import asyncio
import base64
import json
import os
from collections.abc import Awaitable, Callable
from typing import Final

from tests.attack.connections import on_connections
from tests.attack.http2 import Http2
from tests.attack.raid import Attack, Raid
from tests.http2 import DATA, END_STREAM, frame, grpc_message, header_block

_TOKENS_PER_S: Final = 500
_CONNECTIONS: Final = 4
_ODD_PER_S: Final = 100


def forged(kid: str, number: int) -> str:
    """A token that looks right: every other one signed as the key would sign, with nonsense; the
    rest RS256, as long as may be, with a signature of 256 bytes.
    """
    is_long = number % 2 == 1
    head = {"alg": "RS256" if is_long else "EdDSA", "kid": kid, "typ": "JWT"}
    claims = {"sub": f"player-{number}", "roles": ["player"], "exp": 4_000_000_000, "aud": "okey"}
    if is_long:
        claims["pad"] = "x" * 1_800
    return f"{_part(head)}.{_part(claims)}.{_encoded(os.urandom(256 if is_long else 64))}"


def _part(part: object) -> str:
    return _encoded(json.dumps(part).encode())


def _encoded(content: bytes) -> str:
    return base64.urlsafe_b64encode(content).rstrip(b"=").decode()


def bad_tokens(way: str) -> Attack:
    """Calls with a new forged token each."""

    async def act(raid: Raid, peer: Http2, path: str) -> None:
        async for number in raid.ticks(_TOKENS_PER_S / _CONNECTIONS):
            token = forged(raid.aim.kid, number)
            await peer.call(header_block(path, [("authorization", f"Bearer {token}")]), bytes(5))

    return on_connections(way, act, _CONNECTIONS)


def bad_tokens_gateway() -> Attack:
    """Posts with a new forged token each, over a new connection whenever the victim ends one."""

    async def attack(raid: Raid) -> None:
        await raid.go()

        async def one() -> None:
            while not raid.is_over:
                line = await raid.connect(raid.aim.gateway)
                hearing = asyncio.create_task(raid.hear(line))
                try:
                    async for number in raid.ticks(_TOKENS_PER_S / _CONNECTIONS):
                        if hearing.done():
                            break
                        await line.send(_posted(forged(raid.aim.kid, number)))
                        raid.spent.requests += 1
                except ConnectionError:
                    raid.spent.answers["broken off"] += 1
                finally:
                    hearing.cancel()
                    await asyncio.gather(hearing, return_exceptions=True)
                    line.abort()
                await asyncio.sleep(0.05)

        await raid.side_by_side(one() for _ in range(_CONNECTIONS))

    return attack


def _posted(token: str) -> bytes:
    return (
        "POST /rpc/TableService/WhereAmI HTTP/1.1\r\nHost: 127.0.0.1\r\n"
        f"Content-Type: application/json\r\nAuthorization: Bearer {token}\r\n"
        "Content-Length: 2\r\n\r\n{}"
    ).encode()


def odd_calls(way: str) -> Attack:
    """Calls that somebody may want to log: unknown methods, other content, broken messages, calls
    that break off while they are answered.
    """

    async def act(raid: Raid, peer: Http2, path: str) -> None:
        token = ("authorization", f"Bearer {raid.aim.players[0]}")
        kinds: tuple[Callable[[], Awaitable[object]], ...] = (
            lambda: peer.call(header_block("/no.Such/Method"), grpc_message(b"x")),
            lambda: peer.call(header_block(path, [token]), grpc_message(os.urandom(50))),
            lambda: peer.call(header_block(path, [token]), os.urandom(50)),
            lambda: peer.call(header_block(path, [token, ("grpc-timeout", "1n")]), bytes(5)),
            lambda: peer.call(header_block(path, [("grpc-encoding", "x")]), b"\x01" + bytes(4)),
            lambda: peer.call(header_block("no-path-at-all"), bytes(5)),
            lambda: _broken_off(raid, peer, header_block(path, [token])),
        )
        async for number in raid.ticks(_ODD_PER_S / _CONNECTIONS):
            await kinds[number % len(kinds)]()

    return on_connections(way, act, _CONNECTIONS)


async def _broken_off(raid: Raid, peer: Http2, block: bytes) -> None:
    del raid
    number = await peer.headers(block)
    await peer.line.send(frame(DATA, END_STREAM, number, bytes(5)))
    peer.line.abort()

"""An engine calls the others over channels that it keeps for as long as they are members."""

import asyncio
from typing import cast

import grpc

from okey_runtime.service_token import MetadataProvider
from services.engine.peers import Peers


class Line:
    """A channel, as far as it is closed; calls under way end when the test says so."""

    def __init__(self) -> None:
        self.grace_s: float | None = None
        self.calls_end = asyncio.Event()
        self.is_closed = False

    async def close(self, grace: float | None = None) -> None:
        self.grace_s = grace
        if grace is not None:
            await self.calls_end.wait()
        self.is_closed = True


class Lines:
    """Every channel that was opened, in order."""

    def __init__(self) -> None:
        self.opened: list[tuple[str, Line]] = []
        self.peers = Peers(lambda: (), self._dial)

    def _dial(self, address: str, token: MetadataProvider | None) -> grpc.aio.Channel:
        self.opened.append((address, Line()))
        return cast("grpc.aio.Channel", self.opened[-1][1])


async def test_a_channel_is_kept_while_its_engine_is_a_member() -> None:
    """Where pods have an address of their own each, every roll-out would leave some behind."""
    lines = Lines()
    for address in ("one:1", "two:1", "one:1"):
        lines.peers.bare(address)
    lines.peers.keep({"one:1"})
    lines.peers.bare("one:1")
    assert [address for address, _ in lines.opened] == ["one:1", "two:1"]
    lines.peers.bare("two:1")
    assert [address for address, _ in lines.opened] == ["one:1", "two:1", "two:1"]


async def test_calls_under_way_end_before_their_channel_is_closed() -> None:
    lines = Lines()
    lines.peers.bare("one:1")
    lines.peers.keep(())
    (_, line), *_ = lines.opened
    await asyncio.sleep(0)
    assert (line.grace_s, line.is_closed) == (10.0, False)
    line.calls_end.set()
    await asyncio.sleep(0)
    assert line.is_closed


async def test_closing_waits_for_no_call() -> None:
    lines = Lines()
    for address in ("one:1", "two:1"):
        lines.peers.bare(address)
    lines.peers.keep({"two:1"})
    await asyncio.sleep(0)
    async with asyncio.timeout(5):
        await lines.peers.close()
    assert all(line.is_closed for _, line in lines.opened)

"""A hostile client cannot fill the log of a service: a real process before real gRPC."""

import asyncio
import json
from contextlib import suppress
from pathlib import Path
from typing import Any

import grpc
import pytest

from tests.integration.test_runtime_process import EchoProcess, echo, environment
from tests.streams import cancelling
from tests.unit.runtime.echo import BIDI

pytestmark = pytest.mark.timeout(60)
__all__ = ["echo", "environment"]

INFLATES = b"\0" * (2 << 20)
"""Compressed it is 2 kB."""
BOMBS = 20


async def drop_a_bomb(channel: grpc.aio.Channel, token: str) -> grpc.StatusCode | None:
    """How the stream ends."""
    stream: Any = channel.stream_stream(BIDI)
    metadata = (("authorization", f"Bearer {token}"),)
    with cancelling(stream(compression=grpc.Compression.Gzip, metadata=metadata)) as call:
        with suppress(grpc.aio.AioRpcError, asyncio.InvalidStateError):
            await call.write(INFLATES)  # where the refusal has not come before
        code: grpc.StatusCode | None = await call.code()
    return code


async def test_messages_that_inflate_are_refused_and_leave_hardly_a_line(
    echo: EchoProcess, tmp_path: Path
) -> None:
    address = json.loads((tmp_path / "address.json").read_text())["grpc"]
    token = (tmp_path / "ayse").read_text()
    async with grpc.aio.insecure_channel(address) as channel:
        ends = {await drop_a_bomb(channel, token) for _ in range(BOMBS)}
    # gRPC tells of a write that its refusal has overtaken as of a break.
    assert ends <= {grpc.StatusCode.UNIMPLEMENTED, grpc.StatusCode.INTERNAL}
    echo.process.terminate()
    await echo.ended()
    told = [line for line in echo.lines if str(line["logger"]).startswith("grpc")]
    assert len(told) <= 1
    assert not any("exception" in line for line in told)

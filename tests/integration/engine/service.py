"""A platform whose clocks run twenty times as fast, for tests of its services."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import grpc
import pytest

from okey.api.engine.v1 import engine_pb2
from tests.integration.engine.platform import (
    Platform,
    platform,
)

HELD = engine_pb2.HoldStatus.HOLD_STATUS_HELD
CODE = grpc.StatusCode


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[Platform]:
    async with platform(tmp_path, clock_factor=20) as running:
        yield running


async def eventually(read: Callable[[], Awaitable[object]], expected: object) -> None:
    """Ask until the answer is as expected; the sinks are told after the fact."""
    async with asyncio.timeout(10):
        while await read() != expected:
            pass

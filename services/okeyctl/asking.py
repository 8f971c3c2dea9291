"""One question to a service, over a channel of its own."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final, TypeVar

import grpc

from services.okeyctl.reach import Reach

TIMEOUT_S: Final = 30.0
"""How long an operator waits for one answer."""

Stub = TypeVar("Stub")
Answer = TypeVar("Answer")


def ask(
    way: Reach,
    stub: Callable[[grpc.aio.Channel], Stub],
    question: Callable[[Stub], Awaitable[Answer]],
) -> Answer:
    """The answer. Raises ``grpc.aio.AioRpcError``, ``PlaintextRefused``."""

    async def asking() -> Answer:
        async with way.open() as channel:
            return await question(stub(channel))

    return asyncio.run(asking())

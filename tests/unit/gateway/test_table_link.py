"""The table of a connection: how many commands may wait for their answers."""

import asyncio

import pytest

from okey.api.engine.v1 import engine_pb2
from okey_client import OkeyClient
from okey_runtime.clock import SystemClock
from services.gateway.table_link import CommandsExhausted, TableLink

NOBODY = "127.0.0.1:1"
MOST = 32


def command(request_id: str) -> engine_pb2.PlayRequest:
    return engine_pb2.PlayRequest(forfeit=engine_pb2.ForfeitRequest(request_id=request_id))


async def test_too_many_waiting_commands_are_refused_and_repetitions_are_none() -> None:
    """While the engine is away nothing is answered, and memory must not grow with it."""
    attach = engine_pb2.Attach(table_id="t" * 26)
    async with OkeyClient(token_provider=lambda: "token", engine_address=NOBODY) as client:
        link = TableLink(client, attach, lambda frame: None, asyncio.create_task, SystemClock())
        for number in range(MOST):
            link.ask(command(f"command-{number}"))
        link.ask(command("command-0"))
        with pytest.raises(CommandsExhausted) as refused:
            link.ask(command("one-more"))
        await link.close()
    assert refused.value.reason == "COMMANDS_EXHAUSTED"
    assert refused.value.retry_after_ms > 0

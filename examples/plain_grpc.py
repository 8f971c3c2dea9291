"""The API with gRPC's own library and the generated stubs alone, without ``okey_client``.

    TOKEN=$(.venv/bin/okeyctl token --player plain) .venv/bin/python examples/plain_grpc.py

Shows the three things that every client does: a token with each call, the reason of a refusal, and
the same request again, under the same id, where nobody knows whether it took effect.
"""

import asyncio
import os
import random
import secrets
from collections.abc import Awaitable, Callable
from typing import TypeVar

import grpc
from google.rpc import error_details_pb2, status_pb2

from okey.api.engine.v1 import engine_pb2, engine_pb2_grpc
from okey.api.lobby.v1 import lobby_pb2, lobby_pb2_grpc

T = TypeVar("T")

TRIES = 8
NOT_KNOWN = (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.DEADLINE_EXCEEDED)


def look_into(error: grpc.aio.AioRpcError) -> tuple[str, float | None]:
    """A refusal's reason, and the seconds that it asks to wait; status and message stand besides.

    A status that comes from gRPC itself has neither.
    """
    reason, wait_s = "", None
    packed = dict(error.trailing_metadata()).get("grpc-status-details-bin", b"")
    for detail in status_pb2.Status.FromString(packed).details:
        info, retry = error_details_pb2.ErrorInfo(), error_details_pb2.RetryInfo()
        if detail.Unpack(info):
            reason = str(info.reason)
        elif detail.Unpack(retry):
            wait_s = retry.retry_delay.ToTimedelta().total_seconds()
    return reason, wait_s


async def until_answered(call: Callable[[], Awaitable[T]]) -> T:
    """The answer; the very same request is sent again while none is known."""
    failures = 0
    while True:
        try:
            return await call()
        except grpc.aio.AioRpcError as error:
            reason, wait_s = look_into(error)
            is_limit = error.code() is grpc.StatusCode.RESOURCE_EXHAUSTED and reason
            failures += 1
            if failures == TRIES or not (is_limit or error.code() in NOT_KNOWN):
                raise
        # Longer each time, and with chance, so that not everybody comes back at once.
        pause_s = min(2.0, 0.1 * 2**failures) * random.uniform(0.5, 1.0)
        await asyncio.sleep(pause_s if wait_s is None else wait_s)


async def show(
    lobby: lobby_pb2_grpc.LobbyServiceStub, engine: engine_pb2_grpc.TableServiceStub
) -> None:
    """Make a table, twice with one id; be refused a second one; leave."""
    bearer = (("authorization", f"Bearer {os.environ['TOKEN']}"),)
    wish = lobby_pb2.CreateTableRequest(
        request_id=secrets.token_hex(12), terms=lobby_pb2.TableTerms(seat_count=2, stake=100)
    )
    made, again = [
        await until_answered(lambda: lobby.CreateTable(wish, metadata=bearer, timeout=10))
        for _ in range(2)
    ]
    print("the same request, the same table:", made.table_id == again.table_id)

    wish.request_id = secrets.token_hex(12)
    try:
        await lobby.CreateTable(wish, metadata=bearer, timeout=10)
    except grpc.aio.AioRpcError as error:
        print("a second table:", look_into(error)[0])

    leave = engine_pb2.LeaveSeatRequest(table_id=made.table_id, request_id=secrets.token_hex(12))
    await until_answered(lambda: engine.LeaveSeat(leave, metadata=bearer, timeout=10))
    print("left")


async def main() -> None:
    """Open the channels, and use them."""
    async with (
        grpc.aio.insecure_channel(os.environ.get("LOBBY", "127.0.0.1:7401")) as lobby,
        grpc.aio.insecure_channel(os.environ.get("ENGINE", "127.0.0.1:7402")) as engine,
    ):
        await show(lobby_pb2_grpc.LobbyServiceStub(lobby), engine_pb2_grpc.TableServiceStub(engine))


if __name__ == "__main__":
    asyncio.run(main())

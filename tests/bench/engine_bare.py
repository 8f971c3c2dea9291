"""A bare gRPC stream server with the engine's fan-out: `python -m tests.bench.engine_bare`.

It prints its port. The first message of a stream is JSON: the room, and the sizes of what shall go
down. After that each message is answered with a result, and everybody in the room gets an update;
nothing is read, decided or stored. What the engine costs is measured beside this.

With ``BENCH_GIVES_WAY`` set, gRPC's threads give way to its loop as they do to the engine's.
"""

import asyncio
import json
import os
import sys
from typing import Any

import grpc
import uvloop

from okey_runtime.grpc_threads import start_grpc
from tests.bench.children import end_with_parent

SERVICE = "bench.Rooms"
METHOD = f"/{SERVICE}/Play"

Unsent = asyncio.Queue[bytes]


class Rooms:
    """Who is where."""

    def __init__(self) -> None:
        self._rooms: dict[str, list[Unsent]] = {}

    async def play(self, _: Any, context: grpc.aio.ServicerContext[bytes, bytes]) -> None:
        """One stream."""
        entry = json.loads(await context.read())
        result, update = b"r" * entry["result"], b"u" * entry["update"]
        room = self._rooms.setdefault(entry["room"], [])
        unsent: Unsent = asyncio.Queue()
        room.append(unsent)
        await context.write(b"hello")
        writing = asyncio.create_task(_write(unsent, context))
        try:
            while await _is_more(context):
                unsent.put_nowait(result)
                for each in room:
                    each.put_nowait(update)
        finally:
            room.remove(unsent)
            writing.cancel()


async def _is_more(context: grpc.aio.ServicerContext[bytes, bytes]) -> bool:
    message: object = await context.read()
    return message is not grpc.aio.EOF


async def _write(unsent: Unsent, context: grpc.aio.ServicerContext[bytes, bytes]) -> None:
    while True:
        await context.write(await unsent.get())


async def main() -> None:
    """Serve until it is killed."""
    end_with_parent()
    if os.environ.get("BENCH_GIVES_WAY"):
        start_grpc()
    server = grpc.aio.server()
    handler: grpc.RpcMethodHandler[bytes, bytes] = grpc.stream_stream_rpc_method_handler(
        Rooms().play
    )
    server.add_generic_rpc_handlers(
        (grpc.method_handlers_generic_handler(SERVICE, {"Play": handler}),)
    )
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    sys.stdout.write(f"{port}\n")
    sys.stdout.flush()
    await asyncio.Event().wait()


if __name__ == "__main__":
    uvloop.run(main())

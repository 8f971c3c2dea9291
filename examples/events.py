"""Another team's copy of what happens: every row of every table, each exactly once.

    TOKEN=$(.venv/bin/okeyctl token --player me --role integrator) \
        .venv/bin/python examples/events.py matches.db --until-idle 5

What is made of a row and the row's cursor are written in one transaction. So a crash, a restart or
a day's break of either side leaves nothing out and counts nothing twice: start it again, and it
goes on. To rebuild from all that is still kept (a replay), start with an empty database.
"""

import argparse
import asyncio
import os
import sqlite3
from collections.abc import AsyncIterator
from contextlib import closing, suppress

import grpc

from okey.api.events.v1 import events_pb2, events_pb2_grpc
from okey_runtime.errors import from_rpc_error

SCHEMA = """
CREATE TABLE IF NOT EXISTS place (one INTEGER PRIMARY KEY CHECK (one = 1), cursor TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS matches (
    match_id TEXT PRIMARY KEY, table_id TEXT NOT NULL, pot INTEGER NOT NULL,
    started_ms INTEGER NOT NULL, ended_ms INTEGER
);
"""


def cursor_of(database: sqlite3.Connection) -> str:
    """Where to go on; empty for everything that is still kept."""
    found = database.execute("SELECT cursor FROM place").fetchone()
    return str(found[0]) if found else ""


def apply(database: sqlite3.Connection, row: events_pb2.SubscribeResponse) -> None:
    """Write what a row tells, and its cursor: both, or nothing."""
    with database:
        for event in row.events:
            if event.WhichOneof("event") == "match_started":
                started = event.match_started
                database.execute(
                    "INSERT INTO matches VALUES (?, ?, ?, ?, NULL)",
                    (started.match_id, row.table_id, started.pot, row.at_ms),
                )
            elif (kind := event.WhichOneof("event")) in ("match_ended", "match_voided"):
                database.execute(
                    "UPDATE matches SET ended_ms = ? WHERE match_id = ?",
                    (row.at_ms, getattr(event, kind).match_id),
                )
        database.execute("INSERT OR REPLACE INTO place VALUES (1, ?)", (row.cursor,))


async def follow(database: sqlite3.Connection, idle_s: float | None) -> None:
    """Follow the events, over broken streams, until nothing has come for so many seconds."""
    now = asyncio.get_running_loop().time
    async with grpc.aio.insecure_channel(os.environ.get("ENGINE", "127.0.0.1:7402")) as channel:
        stub = events_pb2_grpc.EventServiceStub(channel)
        with suppress(TimeoutError):
            async with asyncio.timeout(idle_s) as idle:
                while True:
                    async for row in rows_of(stub, cursor_of(database)):
                        apply(database, row)
                        if idle_s is not None:
                            idle.reschedule(now() + idle_s)
                    await asyncio.sleep(1)


async def rows_of(
    stub: events_pb2_grpc.EventServiceStub, cursor: str
) -> AsyncIterator[events_pb2.SubscribeResponse]:
    """The rows after the cursor, until the stream ends or breaks: then it is to be opened again."""
    bearer = (("authorization", f"Bearer {os.environ['TOKEN']}"),)
    try:
        request = events_pb2.SubscribeRequest(cursor=cursor)
        async for row in stub.Subscribe(request, metadata=bearer):
            if row.end:
                return  # the engine stops, or the token ends
            yield row
    except grpc.aio.AioRpcError as error:
        if error.code() is not grpc.StatusCode.UNAVAILABLE:
            # CURSOR_TOO_OLD and CURSOR_AHEAD: only a new copy, from an empty cursor, helps.
            raise SystemExit(str(from_rpc_error(error))) from error


def main() -> None:
    """Follow, then say what is known."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("file", help="the SQLite database")
    parser.add_argument("--until-idle", type=float, metavar="SECONDS", help="end when so long idle")
    arguments = parser.parse_args()
    with closing(sqlite3.connect(arguments.file)) as database:
        database.executescript(SCHEMA)
        asyncio.run(follow(database, arguments.until_idle))
        matches = database.execute("SELECT count(*), count(ended_ms) FROM matches").fetchone()
        print(f"{matches[0]} matches, {matches[1]} of them over; cursor {cursor_of(database)}")


if __name__ == "__main__":
    main()

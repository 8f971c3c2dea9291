"""A player by program: sits down against a bot, plays its seat over one stream until it is over.

    TOKEN=$(.venv/bin/okeyctl token --player robot) .venv/bin/python examples/bot.py

Put your own game into ``choose``: it sees what the seat sees and names one action.
"""

import asyncio
import os

from okey.api.common.v1 import common_pb2
from okey.api.engine.v1 import table_pb2
from okey.api.lobby.v1 import lobby_pb2
from okey.rules.distance import distance_to_normal
from okey.rules.tile import Tile, without
from okey.table.commands import Action, Discard, Draw, DrawSource, Finish
from okey_client import OkeyClient, RpcFailure, TableClient

OVER = (table_pb2.PHASE_NACHSPIEL, table_pb2.PHASE_CLOSED)
# The clock was faster, or a stand-in plays: the next view says what is due.
TOO_LATE = {
    *("TURN_OVER", "TURN_EXPIRED", "NOT_YOUR_TURN", "TABLE_CLOSED"),
    *("STAND_IN_PLAYS", "NOT_AWAY", "RETURN_TOO_LATE"),
}


def is_to_move(view: table_pb2.TableView) -> bool:
    """Whether the viewer's own turn runs."""
    return view.HasField("round") and view.round.turn.seat == view.viewer


def choose(view: table_pb2.TableView) -> Action:
    """Draw from the stock; then keep the 14 tiles that are nearest to a finish."""
    if table_pb2.LEGAL_ACTION_DRAW_STOCK in view.legal_actions:
        return Draw(DrawSource.STOCK)
    rack = [Tile(tile) for tile in view.round.rack]
    okey = Tile(view.round.okey)

    def distance_without(tile: Tile) -> int:
        return distance_to_normal(without(rack, (tile,)), okey)

    spare = min(rack, key=distance_without)
    return Finish(spare) if distance_without(spare) == 0 else Discard(spare)


async def play(table: TableClient) -> None:
    """Play the caller's seat until the match is settled."""
    async with table.play() as seat:
        async for change in seat:
            view = change.view
            if view.phase in OVER:
                return
            # One look may stand for several rows: act on the newest only.
            if view.seq < seat.view.seq:
                continue
            try:
                if table_pb2.LEGAL_ACTION_RETURN_TO_SEAT in view.legal_actions:
                    await seat.return_to_seat()
                elif is_to_move(view):
                    await seat.act(view.round.turn.number, choose(view))
            except RpcFailure as failure:
                if failure.reason not in TOO_LATE:
                    raise


async def main() -> None:
    """Play one match for 100 chips."""
    async with OkeyClient(
        token_provider=lambda: os.environ["TOKEN"],
        lobby_address=os.environ.get("LOBBY", "127.0.0.1:7401"),
        engine_address=os.environ.get("ENGINE", "127.0.0.1:7402"),
    ) as client:
        # Who lost its place, by a crash or a restart, sits there still (W3).
        table = await client.where_am_i()
        if table is None:
            terms = lobby_pb2.TableTerms(mode=common_pb2.MODE_SOLO, seat_count=2, stake=100)
            table = client.table(await client.lobby.create_table(terms))
        print("table", table.table_id, flush=True)
        await play(table)
        print("over", flush=True)


if __name__ == "__main__":
    asyncio.run(main())

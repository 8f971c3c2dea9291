"""Honest players: matches played without thinking, each command's latency noted.

Three tables each are played over gRPC, through Envoy and through the gateway. A command that fails
is noted as a failure; a player that loses its connection comes back.
"""

import asyncio
import itertools
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Final

import orjson
from websockets.asyncio.client import connect
from websockets.exceptions import WebSocketException

from okey.api.common.v1 import common_pb2
from okey.api.engine.v1 import table_pb2
from okey.api.lobby.v1 import lobby_pb2
from okey.rules.tile import Tile
from okey.table.commands import Action, Discard, Draw, DrawSource
from okey_client import OkeyClient, RpcFailure
from tests.attack.stand import Stand

WAYS: Final = ("direct", "edge", "gateway")
TABLES_A_WAY: Final = 3
PAUSE_S: Final = 0.08
_AGAIN_S: Final = 0.2
_CLOSED: Final = "TABLE_CLOSED"
_TOO_LATE: Final = frozenset(
    {"TURN_OVER", "TURN_EXPIRED", "NOT_YOUR_TURN", "STAND_IN_PLAYS", "ALREADY_DRAWN"}
    | {"MUST_DRAW_FIRST", "NOT_AWAY", "TABLE_CLOSED"}
)
_START_POINTS: Final = 20


@dataclass(frozen=True, slots=True)
class Timed:
    """One command: when it was sent, on which way, and after how many seconds it was answered."""

    started_s: float
    way: str
    seconds: float


@dataclass(slots=True)
class Pace:
    """How long a player waits before each command."""

    pause_s: float = PAUSE_S


@dataclass(slots=True)
class Played:
    """All that players saw: commands answered and under way, calls that failed (when, and why)."""

    commands: list[Timed] = field(default_factory=list)
    failures: list[tuple[float, str]] = field(default_factory=list)
    _waiting: dict[str, tuple[str, float]] = field(default_factory=dict)

    def begin(self, player: str, way: str) -> None:
        """A command is sent."""
        self._waiting[player] = way, time.perf_counter()

    def end(self, player: str) -> None:
        """It was answered just now."""
        way, started_s = self._waiting.pop(player)
        self.commands.append(Timed(started_s, way, time.perf_counter() - started_s))

    def drop(self, player: str) -> None:
        """It was refused, or its connection broke."""
        self._waiting.pop(player, None)

    def since(self, started_s: float) -> dict[str, list[float]]:
        """Seconds by way of all commands begun since then; one that has no answer yet counts with
        the time that it has waited.
        """
        now_s, found = time.perf_counter(), dict[str, list[float]]()
        under_way = [Timed(at_s, way, now_s - at_s) for way, at_s in self._waiting.values()]
        for each in (*self.commands, *under_way):
            if each.started_s >= started_s:
                found.setdefault(each.way, []).append(each.seconds)
        return found

    def fail(self, way: str, why: str) -> None:
        """A call failed just now."""
        self.failures.append((time.perf_counter(), f"{way}: {why}"))


@asynccontextmanager
async def playing(stand: Stand, played: Played, pace: Pace) -> AsyncIterator[list[str]]:
    """Tables that are played until the block ends; their ids."""
    tables = list[str]()
    pairs = [(way, f"{way}-{number}") for way in WAYS for number in range(TABLES_A_WAY)]
    first = [asyncio.Event() for _ in pairs]
    tasks = [
        asyncio.create_task(_match_after_match(stand, played, pair, pace, tables, seated))
        for pair, seated in zip(pairs, first, strict=True)
    ]
    try:
        waiting: set[asyncio.Future[Any]] = {asyncio.gather(*(each.wait() for each in first))}
        await asyncio.wait(waiting.union(tasks), return_when=asyncio.FIRST_COMPLETED)
        yield tables
        for task in tasks:
            if task.done():
                task.result()
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _match_after_match(
    stand: Stand,
    played: Played,
    pair: tuple[str, str],
    pace: Pace,
    tables: list[str],
    seated: asyncio.Event,
) -> None:
    """Two players of one way; new ones for each match, since a table closes after its own (K11)."""
    way, name = pair
    for match in itertools.count():
        names = [f"{name}-{match}-{seat}" for seat in range(2)]
        try:
            table_id = await _sit_down(stand, names)
        except RpcFailure as failure:
            played.fail(way, f"no table: {failure}"[:200])
            await asyncio.sleep(_AGAIN_S)
            continue
        tables.append(table_id)
        seated.set()
        await asyncio.gather(
            *(_play_on(stand, played, way, table_id, each, pace) for each in names)
        )


async def _sit_down(stand: Stand, names: list[str]) -> str:
    """A table of Klasik, which goes on round after round."""
    terms = lobby_pb2.TableTerms(seat_count=2, stake=50, turn_timeout_ms=120_000)
    terms.variant, terms.start_points = common_pb2.VARIANT_KLASIK, _START_POINTS
    table_id = ""
    for name in names:
        async with stand.platform.client(name) as client:
            if table_id:
                await client.lobby.join_table(table_id)
            else:
                table_id = await client.lobby.create_table(terms)
    return table_id


async def _play_on(
    stand: Stand, played: Played, way: str, table_id: str, name: str, pace: Pace
) -> None:
    """Play until the table closes; come back after each failure."""
    play = _over_gateway if way == "gateway" else _over_grpc
    while True:
        try:
            await play(stand, played, way, table_id, name, pace)
        except (RpcFailure, OSError, WebSocketException, TimeoutError) as failure:
            played.drop(name)
            played.fail(way, f"{type(failure).__name__} {failure}"[:200])
            await asyncio.sleep(_AGAIN_S)
        else:
            played.drop(name)
            return


async def _over_grpc(
    stand: Stand, played: Played, way: str, table_id: str, name: str, pace: Pace
) -> None:
    token, state = stand.platform.token(name), stand.platform.state
    async with (
        OkeyClient(
            token_provider=lambda: token,
            engine_address=state.address("engine"),
            edge_address=stand.edge if way == "edge" else "",
        ) as client,
        client.table(table_id).play() as seat,
    ):
        async for change in seat:
            view = change.view
            if view.seq < seat.view.seq:
                continue
            try:
                if table_pb2.LEGAL_ACTION_RETURN_TO_SEAT in view.legal_actions:
                    await seat.return_to_seat()
                elif (action := _action(view)) is not None:
                    await asyncio.sleep(pace.pause_s)
                    played.begin(name, way)
                    await seat.act(view.round.turn.number, action)
                    played.end(name)
            except RpcFailure as failure:
                played.drop(name)
                if failure.reason not in _TOO_LATE:
                    raise


def _action(view: table_pb2.TableView) -> Action | None:
    """Draw, and lay what is in the rack and no okey."""
    if not view.HasField("round") or view.round.turn.seat != view.viewer:
        return None
    if table_pb2.LEGAL_ACTION_DRAW_STOCK in view.legal_actions:
        return Draw(DrawSource.STOCK)
    if table_pb2.LEGAL_ACTION_DISCARD in view.legal_actions:
        return Discard(Tile(next(t for t in view.round.rack if t != view.round.okey)))
    return None


async def _over_gateway(
    stand: Stand, played: Played, way: str, table_id: str, name: str, pace: Pace
) -> None:
    url = stand.page.replace("http", "ws", 1) + "ws"
    async with connect(url, proxy=None, compression=None, ping_interval=None) as socket:
        hello = {"token": stand.platform.token(name), "table_id": table_id, "with_view": True}
        await socket.send(orjson.dumps({"hello": hello}).decode())
        numbers, asked = itertools.count(time.monotonic_ns()), ""
        async for content in socket:
            said = orjson.loads(content)
            if "end" in said:
                if said["end"]["reason"] == _CLOSED:
                    return
                raise OSError(f"the gateway has ended it: {said['end']}")
            table: dict[str, Any] = said.get("table", {})
            result = table.get("result", {})
            if asked and result.get("request_id") == asked:
                asked = ""
                _note_result(played, way, name, result)
            view = (table.get("update") or table.get("snapshot") or {}).get("view")
            command = view and _command(view)
            if command:
                await asyncio.sleep(pace.pause_s)
                asked = f"request-{next(numbers)}"
                (name_of,) = command
                command[name_of]["request_id"] = asked
                played.begin(name, way)
                await socket.send(orjson.dumps({"play": command}).decode())


def _note_result(played: Played, way: str, name: str, result: dict[str, Any]) -> None:
    reason = result.get("error", {}).get("reason", "")
    if not reason:
        played.end(name)
        return
    played.drop(name)
    if reason not in _TOO_LATE:
        played.fail(way, str(result["error"])[:200])


def _command(view: dict[str, Any]) -> dict[str, dict[str, Any]] | None:
    legal, running = view["legal_actions"], view.get("round")
    if "LEGAL_ACTION_RETURN_TO_SEAT" in legal:
        return {"return_to_seat": {}}
    if running is None or running["turn"]["seat"] != view["viewer"]:
        return None
    turn = running["turn"]["number"]
    if "LEGAL_ACTION_DRAW_STOCK" in legal:
        return {"act": {"turn": turn, "action": {"draw_from_stock": {}}}}
    if "LEGAL_ACTION_DISCARD" in legal:
        tile = next(each for each in running["rack"] if each != running["okey"])
        return {"act": {"turn": turn, "action": {"discard": {"tile": tile}}}}
    return None

"""Logs at debug level, metrics and errors hold no hidden tile, no token and no secret."""

import asyncio
import json
import sqlite3
from collections.abc import AsyncIterator, Awaitable
from pathlib import Path
from random import Random

import grpc
import pytest
from prometheus_client import REGISTRY, generate_latest

from okey.api.common.v1 import common_pb2
from okey.api.engine.v1 import engine_pb2, table_pb2
from okey.api.lobby.v1 import lobby_pb2
from okey.rules.tile import Tile
from okey_client import OkeyClient, autoplay
from okey_runtime.errors import STATUS_DETAILS_KEY
from okey_runtime.identity import Role
from services.engine.record import decode_events
from tests.fixtures.logs import log_file
from tests.fixtures.valkey import Valkey
from tests.integration.engine.platform import Phase
from tests.security.leaking import Secrets
from tests.security.stand import Everything, everything

__all__ = ["log_file"]

OVER = (Phase.PHASE_SETTLING, Phase.PHASE_NACHSPIEL, Phase.PHASE_CLOSED)
AT_ONCE = 4


@pytest.fixture
async def hurried(
    log_file: Path, tmp_path: Path, valkey_server: Valkey
) -> AsyncIterator[Everything]:
    """A platform whose clocks are hurried, and whose logs are kept."""
    valkey_server.empty()
    async with everything(tmp_path, valkey_server.url, clock_factor=20) as running:
        yield running


class Heard:
    """Every error that callers were told."""

    def __init__(self) -> None:
        self.errors: list[str] = []

    async def refused(self, call: Awaitable[object]) -> None:
        """Keep what the refusal says, down to its last byte."""
        try:
            await call
        except grpc.aio.AioRpcError as error:
            metadata = dict(error.trailing_metadata() or ())
            details = metadata.pop(STATUS_DETAILS_KEY, b"")
            assert isinstance(details, bytes)
            said = (error.code().name, error.details(), details.decode("latin-1"), metadata)
            self.errors.append(repr(said))


def client(world: Everything, player: str, tokens: list[str]) -> OkeyClient:
    token = world.issuer.token(player, name=f"Name of {player}")
    tokens.append(token)
    return OkeyClient(
        token_provider=lambda: token,
        lobby_address=world.address("lobby"),
        engine_address=world.engine_address,
    )


async def play(world: Everything, number: int, heard: Heard, tokens: list[str]) -> None:
    """One match of two people, or of one with an AI, with mistakes of every kind on the way."""
    players = [f"p{number}-{seat}" for seat in range(2 if number % 3 else 1)]
    terms = lobby_pb2.TableTerms(seat_count=2, stake=100)
    if len(players) == 1:
        terms.mode = common_pb2.MODE_SOLO
    elif number % 10 == 1:
        terms.variant = common_pb2.VARIANT_KLASIK
        terms.start_points = 3
    clients = [client(world, player, tokens) for player in players]
    try:
        table_id = await clients[0].lobby.create_table(terms)
        for other in clients[1:]:
            await other.lobby.join_table(table_id)
        await asyncio.gather(
            blunder(world, table_id, players[0], heard, Random(number)),
            *(autoplay(each.table(table_id), is_over) for each in clients),
        )
    finally:
        for each in clients:
            await each.close()


def is_over(view: table_pb2.TableView) -> bool:
    return view.phase in OVER


async def blunder(
    world: Everything, table_id: str, player: str, heard: Heard, chance: Random
) -> None:
    """What is refused: moves at the wrong time, with wrong tiles, by strangers, with bad tokens."""
    own, stranger = await world.tables_as(player), await world.tables_as("zoe")
    tile = common_pb2.Tile.ValueType(chance.choice(list(Tile)))
    wrong = (
        table_pb2.Action(discard=table_pb2.Discard(tile=tile)),
        table_pb2.Action(finish=table_pb2.Finish(tile=tile)),
        table_pb2.Action(draw_from_discard=table_pb2.DrawFromDiscard()),
    )
    for turn in range(1, 12):
        view = (await own.GetTable(engine_pb2.GetTableRequest(table_id=table_id))).view
        for stub in (own, stranger):
            request = engine_pb2.ActRequest(
                table_id=table_id,
                request_id=world.request_id(),
                turn=view.round.turn.number if turn % 2 else turn,
                action=chance.choice(wrong),
            )
            await heard.refused(stub.Act(request))
    ask = engine_pb2.ListEventsRequest(table_id=table_id, match_no=1, round_no=1)
    await heard.refused(stranger.ListEvents(ask))
    await heard.refused(own.Act(engine_pb2.ActRequest(table_id=table_id, request_id="x")))
    bad = (("authorization", f"Bearer {world.issuer.token(player)[:-9]}"),)
    await heard.refused(own.WhereAmI(engine_pb2.WhereAmIRequest(), metadata=bad))


def secrets_of(world: Everything, tokens: list[str]) -> tuple[Secrets, int]:
    """Everything hidden, from the journal and the keys themselves; and how many rounds it was."""
    secrets, rounds = Secrets(), 0
    for token in tokens:
        secrets.add_text("a player's token", token)
        secrets.add_text("a token's signature", token.rpartition(".")[2])
    for role in (Role.ENGINE, Role.LOBBY):
        for file in (world.folder / f"{role}-tokens").iterdir():
            secrets.add_text("a service's token", file.read_text())
    key = json.loads((world.folder / "signing-key.json").read_text())
    secrets.add_text("the signing key", key["d"])
    with sqlite3.connect(world.folder / "engine.db") as database:
        for (payload,) in database.execute("SELECT payload FROM journal"):
            for event in decode_events(payload):
                secrets.add_event(event)
                rounds += type(event).__name__ == "RoundDealt"
    database.close()
    return secrets, rounds


def logs_beside(log_file: Path) -> str:
    """The log, and the operators' trail."""
    return log_file.read_text() + log_file.with_name("audit.log").read_text()


async def play_and_search(world: Everything, log_file: Path, matches: int) -> None:
    heard, tokens, room = Heard(), list[str](), asyncio.Semaphore(AT_ONCE)

    async def one(number: int) -> None:
        async with room:
            await play(world, number, heard, tokens)

    await asyncio.gather(*map(one, range(matches)))
    secrets, rounds = secrets_of(world, tokens)
    assert rounds >= matches
    assert secrets.size > 100 * rounds
    assert len(heard.errors) > 10 * matches
    metrics = generate_latest(REGISTRY).decode()
    assert "okey_engine" in metrics
    log = await asyncio.to_thread(logs_beside, log_file)
    assert log.count("\n") > 5
    assert list(secrets.in_log(log))[:5] == []
    assert list(secrets.in_log(metrics))[:5] == []
    for error in heard.errors:
        assert list(secrets.in_text(error)) == []


async def test_three_matches_leave_no_secret_behind(hurried: Everything, log_file: Path) -> None:
    """T9: also of what goes wrong."""
    await play_and_search(hurried, log_file, 3)


@pytest.mark.long
@pytest.mark.timeout(3_600)
async def test_five_hundred_matches_leave_no_secret_behind(
    hurried: Everything, log_file: Path
) -> None:
    """T9: five hundred matches at debug level."""
    await play_and_search(hurried, log_file, 500)


RACK = tuple(Tile(number) for number in (5, 17, 23, 31, 40, 52, 53, 9))
SEED = bytes(range(100, 132))
LEAKS = {
    "names": "rack is R5 Y4 Y10 B5 K1 K13 and more",
    "enum names": "TILE_R5, TILE_Y4, TILE_Y10, TILE_B5, TILE_K1, TILE_K13",
    "numbers": "[5, 17, 23, 31, 40, 52, 53, 9]",
    "numbers from the end": "(9, 53, 52, 40, 31, 23)",
    "sorted": "5 9 17 23 31 40 52 53",
    "python's own form": repr(RACK),
    "hex": f"seed={SEED.hex()}",
    "upper-case hex": SEED.hex().upper(),
    "base64": "ZGVmZ2hpamtsbW5vcHFyc3R1dnd4eXp7fH1+f4CBgoM=",
    "bytes as Python writes them": repr(bytes(range(120, 152))),
    "a token": "eyJhbGciOiJFZERTQSJ9.eyJzdWIiOiJ4In0AAAA.c2lnbmF0dXJl",
    "a password": "postgresql://okey:very-secret@db/okey",
}


@pytest.mark.parametrize("text", LEAKS.values(), ids=LEAKS.keys())
def test_the_search_finds_what_leaks(text: str) -> None:
    secrets = Secrets()
    secrets.add_tiles(RACK)
    secrets.add_bytes("a seed", SEED)
    secrets.add_bytes("another seed", bytes(range(120, 152)))
    secrets.add_text("a password", "very-secret")
    assert list(secrets.in_text(f"before {text} after"))
    assert list(secrets.in_text(json.dumps({"event": text})))
    assert list(secrets.in_text("nothing of it: 1, 2, 3, 4, 5, 6, 7")) == []


@pytest.mark.parametrize("line", ['{"tile": 7}', '{"rack": []}', "drew Tile.R7", "TILE_S"])
def test_a_log_names_no_tile_at_all(line: str) -> None:
    assert list(Secrets().in_log(line))

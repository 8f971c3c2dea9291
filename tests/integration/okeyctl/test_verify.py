"""``okeyctl verify`` against a real engine, and against one that changed a tile."""

import asyncio
import json
import re
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from okey.api.common.v1 import common_pb2
from okey.api.engine.v1 import engine_pb2
from okey.errors import NotFound
from okey.rules.deal import DealContext, shuffle
from okey_runtime.access import AccessTable
from okey_runtime.config import Environment, ServiceSettings
from okey_runtime.identity import Role
from okey_runtime.server import ServiceServer
from services.okeyctl.app import app
from tests.fixtures.issuer import Issuer
from tests.fixtures.partial_service import serve_methods
from tests.integration.engine.platform import Phase, Platform, Player, platform

TABLES = "okey.api.engine.v1.TableService"
NACHSPIEL = Phase.PHASE_NACHSPIEL


class RoundNotFound(NotFound):
    reason = "ROUND_NOT_FOUND"


class RoundsApp:
    """An engine that knows finished rounds and nothing else: what it is told to show."""

    def __init__(self, issuer: Issuer, rounds: dict[int, engine_pb2.ListEventsResponse]) -> None:
        self.settings = ServiceSettings(
            environment=Environment.TEST, jwks_file=issuer.jwks_file, stop_grace_ms=0
        )
        self.services: Sequence[str] = (TABLES,)
        self.access = AccessTable.of(TABLES, {"ListEvents": {Role.OPERATOR}})
        self._rounds = rounds

    async def start(self, host: ServiceServer) -> None:
        methods = {"ListEvents": (self.list_events, engine_pb2.ListEventsRequest)}
        serve_methods(host, TABLES, methods)

    async def drain(self) -> None:
        """Nothing to hand over."""

    async def close(self) -> None:
        """Nothing was opened."""

    async def list_events(
        self, request: engine_pb2.ListEventsRequest, context: Any
    ) -> engine_pb2.ListEventsResponse:
        if request.match_no not in self._rounds:
            raise RoundNotFound(f"there is no match {request.match_no}")
        return self._rounds[request.match_no]


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[Platform]:
    async with platform(tmp_path) as running:
        yield running


@pytest.fixture
def token_file(world: Platform, tmp_path: Path) -> Path:
    return world.issuer.service_token_dir(tmp_path, Role.OPERATOR)


@asynccontextmanager
async def false_engine(
    world: Platform, rounds: dict[int, engine_pb2.ListEventsResponse]
) -> AsyncIterator[str]:
    """The address of an engine that shows these rounds, by match number."""
    async with ServiceServer(RoundsApp(world.issuer, rounds), names=["engine"]) as server:
        yield server.address


async def played(world: Platform, matches: int = 1) -> str:
    """A table of two after so many drawn Çanak matches; its id."""
    table_id = await world.open_table("anna")
    await world.take_seat(table_id, "bert")
    for match in range(matches):
        players = [Player(world, name, table_id) for name in ("anna", "bert")]
        if match:
            for player in players:
                request = engine_pb2.PlayOnRequest(table_id=table_id, request_id=world.request_id())
                await (await player.stub()).PlayOn(request)
            await asyncio.gather(*(each.until_phase(Phase.PHASE_PLAYING) for each in players))
        await asyncio.gather(*(each.until_phase(NACHSPIEL) for each in players))
    return table_id


async def shown(world: Platform, table_id: str, match_no: int) -> engine_pb2.ListEventsResponse:
    stub = await world.tables_as("zoe")
    return await stub.ListEvents(
        engine_pb2.ListEventsRequest(table_id=table_id, match_no=match_no, round_no=1)
    )


async def verify(address: str, token_file: Path, *arguments: str) -> tuple[int, str, str]:
    return await run("verify", address, token_file, *arguments)


async def run(
    command: str, address: str, token_file: Path, *arguments: str
) -> tuple[int, str, str]:
    options = ("--engine", address, "--token-file", str(token_file))
    result = await asyncio.to_thread(CliRunner().invoke, app, [command, *arguments, *options])
    return result.exit_code, result.stdout, result.stderr


async def test_an_engines_rounds_prove_themselves(world: Platform, token_file: Path) -> None:
    """T9, T8: the first deal with the dealer of its seed, the next match's with the next one."""
    table_id = await played(world, matches=2)
    status, first, _ = await verify(world.engine_address, token_file, table_id, "1", "1")
    assert status == 0
    assert (await shown(world, table_id, 1)).commitment.hex() in first
    assert "it is the table's first deal" in first
    assert "76 from the stock, in its order" in first
    status, second, _ = await verify(world.engine_address, token_file, table_id, "2", "1")
    assert status == 0
    assert "is the next playing seat after seat" in second
    assert [line.split()[0] for line in second.splitlines()] == [
        "commitment",
        "deal",
        "dealer",
        "draws",
    ]


async def test_a_klasik_round_follows_the_round_before(world: Platform, token_file: Path) -> None:
    """T9, T8, M10: the second round of a match, which operators voided in its middle."""
    table_id = await world.open_table("anna", variant=common_pb2.VARIANT_KLASIK, start_points=20)
    await world.take_seat(table_id, "bert")
    players = [Player(world, name, table_id) for name in ("anna", "bert")]
    for phase in (Phase.PHASE_PAUSE, Phase.PHASE_PLAYING):
        await asyncio.gather(*(player.until_phase(phase) for player in players))
    void = engine_pb2.VoidMatchRequest(
        table_id=table_id, request_id=world.request_id(), reason="a test"
    )
    await (await world.operator()).VoidMatch(void)
    status, output, _ = await verify(world.engine_address, token_file, table_id, "1", "2")
    assert status == 0
    assert "is the next playing seat after seat" in output
    status, output, _ = await run("replay", world.engine_address, token_file, table_id, "1")
    assert status == 0
    assert [line for line in output.splitlines() if line.startswith("match")] == [
        line for line in output.splitlines() if re.match(r"match 1 round [12]  gösterge", line)
    ]
    assert output.count("ended: ") == 2
    json_line = ("--json", table_id, "1", "2")
    status, output, _ = await run("replay", world.engine_address, token_file, *json_line)
    assert (status, json.loads(output)["round_no"]) == (0, 2)
    status, _, error = await run("replay", world.engine_address, token_file, table_id, "2")
    assert status == 2
    assert "ROUND_NOT_FOUND" in error


async def test_a_closed_tables_rounds_stay_open_to_anyones_checks(
    world: Platform, tmp_path: Path
) -> None:
    """T9, Ç10: the seed is public for good, to any player."""
    table_id = await played(world)
    for name in ("anna", "bert"):
        request = engine_pb2.LeaveSeatRequest(table_id=table_id, request_id=world.request_id())
        await (await world.tables_as(name)).LeaveSeat(request)
    players_file = world.issuer.service_token_dir(tmp_path, Role.PLAYER)
    status, _, error = await verify(world.engine_address, players_file, table_id, "1", "1")
    assert (status, error) == (0, "")


async def test_an_exchanged_tile_is_status_1_and_named(world: Platform, token_file: Path) -> None:
    """T9: one tile of one rack, changed after the deal; nothing is said to be proved."""
    table_id = await played(world)
    tampered = await shown(world, table_id, 1)
    rack = tampered.rows[0].events[0].round_dealt.racks[1].tiles
    rack[5] = next(tile for tile in (common_pb2.TILE_R1, common_pb2.TILE_K13) if tile != rack[5])
    async with false_engine(world, {1: tampered}) as address:
        status, output, _ = await verify(address, token_file, table_id, "1", "1")
    assert status == 1
    assert output == (
        "MISMATCH    DEAL_MISMATCH: the racks derived from the seed is not the one played (T9)\n"
    )


async def test_a_round_without_its_deal_is_told_in_the_form_that_is_asked_for(
    world: Platform, token_file: Path
) -> None:
    table_id = await played(world)
    cut = await shown(world, table_id, 1)
    del cut.rows[0]
    async with false_engine(world, {1: cut}) as address:
        plain = await run("replay", address, token_file, table_id, "1", "1")
        status, output, _ = await run("replay", address, token_file, table_id, "1", "1", "--json")
    assert plain[:2] == (
        1,
        "MISMATCH    ROUND_INCOMPLETE: the round does not begin with its deal\n",
    )
    assert (status, json.loads(output)["check"]) == (1, "ROUND_INCOMPLETE")


async def test_the_first_deal_may_be_a_later_matchs(world: Platform, token_file: Path) -> None:
    """T8, W2: matches voided before their deal have no dealer; the seed's is wanted then."""
    table_id = await played(world, matches=2)
    second = await shown(world, table_id, 2)
    async with false_engine(world, {2: second}) as address:
        status, output, _ = await verify(address, token_file, table_id, "2", "1")
    dealt, ended = second.rows[0].events[0].round_dealt, second.rows[-1].events[-1].round_ended
    deck = shuffle(ended.revealed, DealContext(table_id, 2, 1, tuple(dealt.nonces)))
    assert "it is the table's first deal" in output
    assert status == (0 if deck.first_dealer == dealt.dealer else 1)


async def test_a_round_that_is_not_there_or_not_over_is_status_2(
    world: Platform, token_file: Path
) -> None:
    """T9: nothing can be checked before the end."""
    table_id = await played(world)
    for name in ("anna", "bert"):
        request = engine_pb2.PlayOnRequest(table_id=table_id, request_id=world.request_id())
        await (await world.tables_as(name)).PlayOn(request)
    await Player(world, "anna", table_id).until_phase(Phase.PHASE_PLAYING)
    status, _, error = await verify(world.engine_address, token_file, table_id, "2", "1")
    assert status == 2
    assert "ROUND_NOT_ENDED" in error
    status, _, error = await verify(world.engine_address, token_file, table_id, "3", "1")
    assert status == 2
    assert "ROUND_NOT_FOUND" in error

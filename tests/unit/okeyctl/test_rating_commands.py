"""``okeyctl rating``, on a real rating service."""

import asyncio
import json
import sqlite3
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr
from typer.testing import CliRunner

from okey.api.common.v1 import common_pb2
from okey.api.rating.v1 import rating_pb2, rating_pb2_grpc
from okey_runtime.channel import open_channel
from okey_runtime.clock import VirtualClock
from okey_runtime.config import Environment
from okey_runtime.identity import Role
from okey_runtime.server import ServiceServer
from services.okeyctl.app import app
from services.rating.app import RatingApp
from services.rating.settings import RatingSettings
from tests.fixtures.issuer import Issuer

TABLE = "a" * 26


@dataclass(frozen=True)
class Operator:
    """An operator of a rating service in which Ada beat Bo twice."""

    way: tuple[str, ...]
    database: Path

    async def run(self, *command: str) -> tuple[int, str, str]:
        """Status, output and errors of a command."""
        arguments = ["rating", *command, *self.way]
        result = await asyncio.to_thread(CliRunner().invoke, app, arguments)
        return result.exit_code, result.stdout, result.stderr

    def tamper(self, statement: str) -> None:
        """Plain SQL behind the service's back."""
        with sqlite3.connect(self.database) as connection:
            connection.execute(statement)


def document_in(output: str) -> Any:
    """The JSON at the end; the service in this process logs before it."""
    at = min(output.index(start) for start in ("[\n", "{\n") if start in output)
    return json.loads(output[at:])


@pytest.fixture
async def operator(tmp_path: Path) -> AsyncIterator[Operator]:
    clock = VirtualClock()
    issuer = Issuer(tmp_path, clock)
    database = tmp_path / "rating.db"
    settings = RatingSettings(
        environment=Environment.TEST,
        database_url=SecretStr(f"sqlite:///{database}"),
        jwks_file=issuer.jwks_file,
        stop_grace_ms=0,
    )
    token = issuer.service_token_dir(tmp_path, Role.OPERATOR)
    async with ServiceServer(RatingApp(settings), clock) as server:
        engine = issuer.metadata("engine", Role.ENGINE, to="rating")
        async with open_channel(server.address, token=engine) as channel:
            for number in (1, 2):
                await rating_pb2_grpc.RatingServiceStub(channel).RecordMatch(a_match(number))
        way = ("--rating", server.address, "--token-file", str(token))
        yield Operator(way, database)


def a_match(number: int) -> rating_pb2.RecordMatchRequest:
    return rating_pb2.RecordMatchRequest(
        table_id=TABLE,
        match_id=f"{TABLE}-{number}",
        variant=common_pb2.VARIANT_CANAK,
        mode=common_pb2.MODE_NORMAL,
        seats=[rating_pb2.MatchSeat(player_id=player) for player in ("ada", "bo")],
        result=rating_pb2.MatchResult(canak_win=rating_pb2.CanakWin()),
        ended_ms=1_700_000_000_000 + number * 1000,
    )


async def test_show_tells_ratings_and_places(operator: Operator) -> None:
    status, text, _ = await operator.run("show", "ada")
    assert status == 0
    assert "1214.712" in text
    assert "1 of 2 provisional" in text
    assert "no rated match in this season" in text
    _, text, _ = await operator.run("show", "bo", "--json")
    canak, klasik, _ = document_in(text)
    assert canak == {
        "ladder": "canak",
        "rating_milli": 1_185_288,
        "rated_matches": 2,
        "provisional": True,
        "season": 1,
        "section": "provisional",
        "rank": 2,
        "players": 2,
    }
    assert "rank" not in klasik


async def test_history_tells_every_change_and_its_match(operator: Operator) -> None:
    _, text, _ = await operator.run("history", "ada")
    assert text.index("+4.712") < text.index("+10.000")
    assert f"{TABLE}-1" in text
    assert "2023-11-14T22:13:22+00:00" in text
    _, text, _ = await operator.run("history", "bo", "--ladder", "canak", "--limit", "1", "--json")
    (change,) = document_in(text)
    assert (change["kind"], change["delta_milli"], change["rated_matches"]) == ("MATCH", -4_712, 2)


async def test_seasons_are_started_once_and_listed(operator: Operator) -> None:
    start = ("season", "start", "2", "--name", "spring", "--keep-percent", "0")
    status, text, _ = await operator.run(*start)
    assert status == 0
    assert "season 2 'spring' from 2023-11-14T22:13:20+00:00, running, 0 % kept" in text
    assert (await operator.run(*start))[1] == text
    status, _, error = await operator.run("season", "start", "9")
    assert (status, "the next one is 3" in error) == (2, True)
    lines = (await operator.run("season", "list"))[1].splitlines()
    assert [line.split()[1] for line in lines if line.startswith("season")] == ["2", "1"]
    assert "from the beginning, until 2023-11-14T22:13:20+00:00" in lines[-1]
    assert "1200.000" in (await operator.run("show", "ada"))[1]


async def test_a_rebuild_of_what_is_right_ends_with_zero(operator: Operator) -> None:
    status, text, _ = await operator.run("rebuild")
    assert status == 0
    assert "2 events, 8 changes, 4 ratings: all as the events give them." in text


async def test_a_rebuild_shows_what_differs_and_mends_it_on_request(operator: Operator) -> None:
    operator.tamper("UPDATE ratings SET rating_milli = 7 WHERE player_id = 'bo' AND ladder = 1")
    status, text, _ = await operator.run("rebuild")
    assert status == 1
    assert "RATING" in text
    assert "1,185,288" in text
    status, text, _ = await operator.run("rebuild", "--repair", "--json")
    assert (status, document_in(text)["mended"]) == (1, 1)
    assert document_in(text)["differences"][0]["subject"] == "bo"
    assert (await operator.run("rebuild"))[0] == 0


@pytest.mark.parametrize("command", ["show", "history"])
async def test_an_id_that_nobody_can_have_is_refused(operator: Operator, command: str) -> None:
    status, _, error = await operator.run(command, "a b")
    assert (status, "'a b' is no player id" in error) == (2, True)

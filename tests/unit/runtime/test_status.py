"""A process says what it is, what it trusts, and what it finds where it looks."""

import asyncio
from collections.abc import Callable
from pathlib import Path

import grpc
import pytest
from sqlalchemy import Connection, text

from okey.api.common.v1 import status_pb2, status_pb2_grpc
from okey_runtime import status as statuses
from okey_runtime.channel import open_channel
from okey_runtime.checks import database_check, peer_check
from okey_runtime.clock import SystemClock, VirtualClock
from okey_runtime.config import ServiceSettings
from okey_runtime.database import Database
from okey_runtime.errors import from_rpc_error
from okey_runtime.identity import Role
from okey_runtime.migrations import migrate
from okey_runtime.readiness import Readiness
from okey_runtime.schema import newest_schema
from okey_runtime.server import ServiceServer
from okey_runtime.service_token import fixed_token
from okey_runtime.skew import judge_skew, skew_ms
from okey_runtime.status import OK, WARNING, WRONG, Found, Status, platform_version
from services.engine.app import MIGRATIONS
from tests.unit.runtime.echo import EchoApp
from tests.unit.runtime.tokens import Issuer


async def status_of(
    server: ServiceServer, token: str, *, with_checks: bool = False
) -> status_pb2.GetStatusResponse:
    async with open_channel(server.address, token=fixed_token(token)) as channel:
        stub = status_pb2_grpc.StatusServiceStub(channel)
        request = status_pb2.GetStatusRequest(with_checks=with_checks)
        return await stub.GetStatus(request, timeout=10)


async def test_it_says_what_it_is_and_whom_it_trusts(server: ServiceServer, issuer: Issuer) -> None:
    await server.readiness.block("draining")
    told = await status_of(server, issuer.token("op", [Role.OPERATOR]))
    assert told.version == platform_version() != "unknown"
    assert told.now_ms == issuer.clock.now_ms() == told.started_ms
    assert list(told.blocked_by) == ["draining"]
    assert dict(told.facts) == {
        "issuer": server.settings.token_issuer,
        "audience": "okey",
        "keys": "first",
    }


@pytest.mark.parametrize("role", [Role.PLAYER, Role.INTEGRATOR])
async def test_it_says_nothing_to_players_and_other_teams(
    server: ServiceServer, issuer: Issuer, role: Role
) -> None:
    with pytest.raises(grpc.aio.AioRpcError) as refused:
        await status_of(server, issuer.token("ayse", [role]))
    assert from_rpc_error(refused.value).reason == "ROLE_REFUSED"


async def test_checks_are_made_only_when_asked_for(server: ServiceServer, issuer: Issuer) -> None:
    async def look() -> Found:
        return Found(WARNING, "three of four", "look after the fourth")

    server.status.check("legs", look)
    token = issuer.token("op", [Role.OPERATOR])
    assert not (await status_of(server, token)).checks
    (check,) = (await status_of(server, token, with_checks=True)).checks
    assert (check.name, check.state) == ("legs", WARNING)
    assert (check.text, check.advice) == ("three of four", "look after the fourth")


async def test_a_check_that_hangs_is_wrong_and_hinders_no_other(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(statuses, "_CHECK_TIMEOUT_S", 0.05)
    status = Status("echo", VirtualClock(), Readiness([]))

    async def hang() -> Found:
        await asyncio.Event().wait()
        raise AssertionError

    async def answer() -> Found:
        return Found(OK, "there")

    status.check("away", hang)
    status.check("here", answer)
    away, here = (await status.tell(with_checks=True)).checks
    assert away.state == WRONG
    assert "no answer within" in away.text
    assert here.state == OK


@pytest.mark.parametrize(
    ("its_ms", "ahead_ms"), [(990, -10), (1_000, 0), (1_010, 0), (1_020, 0), (1_100, 80)]
)
def test_a_clock_is_ahead_by_what_the_way_does_not_explain(its_ms: int, ahead_ms: int) -> None:
    assert skew_ms(its_ms, 1_000, 1_020) == ahead_ms


@pytest.mark.parametrize(
    ("ahead_ms", "state"),
    [(0, OK), (-1_000, OK), (1_001, WARNING), (-10_000, WARNING), (-10_001, WRONG)],
)
def test_seconds_are_a_warning_and_more_is_wrong(ahead_ms: int, state: int) -> None:
    assert judge_skew(ahead_ms)[0] == state


async def test_a_schema_that_is_not_this_versions_is_told(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'engine.db'}"
    await migrate(url, MIGRATIONS)
    database = Database(url)

    def move_to(revision: str) -> Callable[[Connection], None]:
        def work(connection: Connection) -> None:
            connection.execute(text("UPDATE alembic_version SET version_num = :r"), {"r": revision})

        return work

    look = database_check(database, SystemClock(), newest_schema(MIGRATIONS))
    assert (await look()).state == OK
    await database.transact(move_to("0001"))
    behind = await look()
    assert behind.state == WRONG
    assert f"schema 0001, this version's is {newest_schema(MIGRATIONS)}" in behind.text
    await database.transact(move_to("9999"))
    assert (await look()).state == WARNING
    await database.close()
    assert "OKEY_DATABASE_URL" in (await look()).advice


async def test_a_peer_that_is_away_or_does_not_let_us_in_is_told_apart(
    server: ServiceServer, issuer: Issuer
) -> None:
    clock = issuer.clock

    async def found(token: str, address: str = server.address) -> Found:
        async with open_channel(address, token=fixed_token(token)) as channel:
            return await peer_check(channel, address, clock)()

    assert (await found(issuer.token("engine", [Role.ENGINE]))).state == OK
    for token, words in (
        (issuer.token("ayse"), "does not let us in"),
        ("no.token.atall", "does not take our token"),
    ):
        refused = await found(token)
        assert refused.state == WRONG
        assert words in refused.text
    away = await found("x", "127.0.0.1:1")
    assert "127.0.0.1:1 does not answer" in away.text


async def test_an_own_token_that_ends_is_told_before_and_after(
    settings: ServiceSettings, issuer: Issuer, tmp_path: Path
) -> None:
    file = tmp_path / "wallet.token"
    own = settings.model_copy(update={"service_token_dir": tmp_path})
    async with ServiceServer(EchoApp(own), issuer.clock) as server:
        operator = issuer.token("op", [Role.OPERATOR])
        server.tokens.to("wallet")

        async def found() -> status_pb2.StatusCheck:
            (check,) = (await status_of(server, operator, with_checks=True)).checks
            return check

        missing = await found()
        assert (missing.state, missing.advice) == (WRONG, f"write a token to {file}")
        for ttl_ms, state in ((3_600_000, OK), (60_000, WARNING)):
            made = issuer.token("e", [Role.ENGINE], ttl_ms=ttl_ms, audience="okey-wallet")
            file.write_text(made)
            assert (await found()).state == state
        file.write_text(issuer.token("e", [Role.ENGINE], audience="okey-rating"))
        other = await found()
        assert other.state == WRONG
        assert "the token is for okey-rating; taken here: okey" in other.text
        file.write_text("somebody else's")
        assert (await found()).state == WRONG

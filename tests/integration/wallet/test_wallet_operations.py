"""The operators' side of WalletService over gRPC: freezing, auditing, exporting heads."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable
from pathlib import Path
from typing import Any

import grpc
import pytest
from prometheus_client import REGISTRY
from pydantic import SecretStr

from okey.api.wallet.v1 import wallet_pb2, wallet_pb2_grpc
from okey_runtime.channel import open_channel
from okey_runtime.clock import VirtualClock
from okey_runtime.config import Environment
from okey_runtime.errors import from_rpc_error
from okey_runtime.identity import Role
from okey_runtime.server import ServiceServer
from services.wallet.app import WalletApp, WalletSettings
from services.wallet.finding import FindingKind
from tests.fixtures.issuer import Issuer
from tests.fixtures.ledger import LedgerDatabase, LedgerUrls

TABLE = "a" * 26
Stub = wallet_pb2_grpc.WalletServiceStub


class World:
    """A wallet in this process and a channel to it for whoever calls."""

    def __init__(self, folder: Path, **settings: Any) -> None:
        self.clock = VirtualClock()
        self.folder = folder
        self._issuer = Issuer(folder, self.clock)
        self._channels: list[grpc.aio.Channel] = []
        self._settings = WalletSettings(
            **{
                "environment": Environment.TEST,
                "database_url": SecretStr(f"sqlite:///{folder / 'wallet.db'}"),
                "jwks_file": self._issuer.jwks_file,
                "stop_grace_ms": 0,
                "welcome_chips": 1_000,
                **settings,
            }
        )
        self._server = ServiceServer(WalletApp(self._settings), self.clock)

    async def __aenter__(self) -> "World":
        await self._server.__aenter__()
        return self

    async def __aexit__(self, *error: Any) -> None:
        for channel in self._channels:
            await channel.close()
        await self._server.__aexit__(*error)

    def stub(self, role: Role) -> Stub:
        """The wallet as a caller of this role meets it."""
        token = self._issuer.metadata("caller", role, to="wallet")
        self._channels.append(open_channel(self._server.address, token=token))
        return Stub(self._channels[-1])

    async def tamper(self, statement: str) -> None:
        """Plain SQL past the seals."""
        urls = LedgerUrls.of_anyone(f"sqlite:///{self.folder / 'wallet.db'}")
        database = LedgerDatabase(urls)
        await database.tamper(statement)
        await database.close()


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    """A wallet of standalone's kind, which makes its key itself."""
    settings = {
        "environment": Environment.STANDALONE,
        "chain_key_file": tmp_path / "keys" / "chain.json",
    }
    async with World(tmp_path, **settings) as world:
        yield world


async def failure(call: Awaitable[object]) -> tuple[str, str]:
    """Status and reason of a call that is refused."""
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await call
    found = from_rpc_error(caught.value)
    return found.code.name, found.reason


def hold(player: str) -> wallet_pb2.HoldStakeRequest:
    return wallet_pb2.HoldStakeRequest(
        idempotency_key="hold",
        hold_id=f"{TABLE}-1-0-1",
        table_id=TABLE,
        match_id=f"{TABLE}-1",
        player_id=player,
        stake=100,
        rules_version="2026.11",
    )


def grant(player: str) -> wallet_pb2.GrantChipsRequest:
    return wallet_pb2.GrantChipsRequest(
        idempotency_key=f"grant-{player}", player_id=player, amount=70, reason="a gift"
    )


async def test_taking_from_a_frozen_account_is_declined(world: World) -> None:
    """M3: FAILED_PRECONDITION, and its owner can see that it is frozen."""
    operator, engine = world.stub(Role.OPERATOR), world.stub(Role.ENGINE)
    await operator.GrantChips(grant("ada"))
    request = wallet_pb2.FreezeAccountRequest(account="player:ada", reason="in doubt")
    assert (await operator.FreezeAccount(request)).changed
    assert await failure(engine.HoldStake(hold("ada"))) == ("FAILED_PRECONDITION", "ACCOUNT_FROZEN")
    account = wallet_pb2.GetAccountRequest(account="player:ada")
    assert (await engine.GetAccount(account)).frozen
    lift = wallet_pb2.UnfreezeAccountRequest(account="player:ada", reason="all is well")
    assert (await operator.UnfreezeAccount(lift)).changed
    assert not (await engine.GetAccount(account)).frozen


async def test_freezing_is_refused_by_name(world: World) -> None:
    """M3: tables' accounts, unknown accounts, and callers who are no operators."""
    operator = world.stub(Role.OPERATOR)
    for account, reason in (
        (f"escrow:{TABLE}", "ACCOUNT_NOT_FREEZABLE"),
        ("player:nobody", "ACCOUNT_NOT_FOUND"),
        ("nobody", "UNKNOWN_ACCOUNT"),
    ):
        request = wallet_pb2.FreezeAccountRequest(account=account, reason="x")
        assert (await failure(operator.FreezeAccount(request)))[1] == reason
    request = wallet_pb2.FreezeAccountRequest(account="player:ada", reason="x")
    assert (await failure(world.stub(Role.ENGINE).FreezeAccount(request)))[1] == "ROLE_REFUSED"


async def test_standalone_makes_its_key_and_exports_a_head(world: World) -> None:
    """M5: the key is readable by its owner alone and stands in no table."""
    operator = world.stub(Role.OPERATOR)
    assert list((await operator.ExportAnchors(wallet_pb2.ExportAnchorsRequest())).anchors) == []
    await operator.GrantChips(grant("ada"))
    exported = await operator.ExportAnchors(wallet_pb2.ExportAnchorsRequest())
    assert [(head.block_no, head.last_journal) for head in exported.anchors] == [(1, 2)]
    key_file = world.folder / "keys" / "chain.json"
    assert key_file.stat().st_mode & 0o777 == 0o600
    public = json.loads(exported.public_key)
    assert "d" not in public
    assert public["x"] == json.loads(key_file.read_text())["x"]


async def test_an_audit_over_the_wire_names_what_was_tampered_with(world: World) -> None:
    """M5: the findings, then what was checked and what was not."""
    operator = world.stub(Role.OPERATOR)
    await operator.GrantChips(grant("ada"))
    await operator.ExportAnchors(wallet_pb2.ExportAnchorsRequest())
    await world.tamper("UPDATE journals SET actor = 'somebody' WHERE journal_id = 2")
    told = [each async for each in operator.AuditLedger(wallet_pb2.AuditLedgerRequest())]
    kinds = [each.finding.kind for each in told if each.WhichOneof("message") == "finding"]
    assert kinds == [wallet_pb2.FINDING_KIND_JOURNAL_ALTERED]
    summary = told[-1].summary
    assert (summary.journal_count, summary.sealed_count, summary.has_key) == (2, 2, True)
    assert not summary.is_engine_compared


async def test_the_wallet_audits_itself_in_time(world: World) -> None:
    """M5: a minute after its start, then again and again, and Prometheus is told."""
    await world.stub(Role.OPERATOR).GrantChips(grant("ada"))
    await world.tamper("UPDATE accounts SET balance = 5")
    async with asyncio.timeout(10):
        for balance, findings in ((5, 1), (1_070, 0)):
            await world.tamper(f"UPDATE accounts SET balance = {balance}")
            while _metric("balance_differs") != findings:
                world.clock.advance_ms(60_000)
                await asyncio.sleep(0)


async def test_a_wallet_without_a_key_says_so(tmp_path: Path) -> None:
    """M5: it serves, seals nothing, and no audit hides that."""
    async with World(tmp_path) as world:
        operator = world.stub(Role.OPERATOR)
        exported = operator.ExportAnchors(wallet_pb2.ExportAnchorsRequest())
        assert await failure(exported) == ("NOT_FOUND", "CHAIN_KEY_MISSING")
        told = [each async for each in operator.AuditLedger(wallet_pb2.AuditLedgerRequest())]
        assert not told[-1].summary.has_key
        assert REGISTRY.get_sample_value("okey_wallet_chain_key") == 0


def test_every_kind_of_finding_has_its_name_in_the_proto() -> None:
    """M5: in both directions."""
    names = {f"FINDING_KIND_{kind.name}" for kind in FindingKind}
    assert names == set(wallet_pb2.FindingKind.keys()) - {"FINDING_KIND_UNSPECIFIED"}


def _metric(kind: str) -> float | None:
    return REGISTRY.get_sample_value("okey_wallet_audit_findings", {"kind": kind})

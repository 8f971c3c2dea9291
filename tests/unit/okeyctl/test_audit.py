"""``okeyctl audit``: what the wallet found, for people and for scripts."""

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import grpc
import pytest
from typer.testing import CliRunner

from okey.api.wallet.v1 import wallet_pb2
from okey_runtime.dev_platform import DATA_DIR_VARIABLE
from services.okeyctl.anchors import add_anchors
from services.okeyctl.app import app

FINDING = wallet_pb2.Finding(
    kind=wallet_pb2.FINDING_KIND_BALANCE_DIFFERS, subject="player:ayse", expected=70, actual=71
)


def head(block_no: int) -> wallet_pb2.Anchor:
    return wallet_pb2.Anchor(
        block_no=block_no,
        digest="ab" * 32,
        last_journal=9,
        sealed_at_ms=1_700_000_000_000,
        key_id="k",
        signature="cd" * 64,
    )


class Wallet:
    """A wallet that has found what it is told to."""

    def __init__(self) -> None:
        self.findings: list[wallet_pb2.Finding] = []
        self.tokens: set[str] = set()
        self.requests: list[wallet_pb2.AuditLedgerRequest] = []
        self.head = head(2)

    async def audit_ledger(
        self,
        request: wallet_pb2.AuditLedgerRequest,
        context: grpc.aio.ServicerContext[Any, Any],
    ) -> AsyncIterator[wallet_pb2.AuditLedgerResponse]:
        metadata = dict(context.invocation_metadata() or ())
        self.tokens.add(str(metadata["authorization"]))
        self.requests.append(request)
        progress = wallet_pb2.AuditProgress(step="chain", done=1, total=3)
        yield wallet_pb2.AuditLedgerResponse(progress=progress)
        for finding in self.findings:
            yield wallet_pb2.AuditLedgerResponse(finding=finding)
        frozen = ["player:ayse"] if request.freeze else []
        summary = wallet_pb2.AuditSummary(
            journal_count=3, posting_count=8, block_count=2, sealed_count=3, has_key=True
        )
        summary.frozen.extend(frozen)
        yield wallet_pb2.AuditLedgerResponse(summary=summary)

    async def export_anchors(
        self,
        request: wallet_pb2.ExportAnchorsRequest,
        context: grpc.aio.ServicerContext[Any, Any],
    ) -> wallet_pb2.ExportAnchorsResponse:
        return wallet_pb2.ExportAnchorsResponse(anchors=[self.head], public_key='{"kid": "k"}')

    async def get_account(
        self,
        request: wallet_pb2.GetAccountRequest,
        context: grpc.aio.ServicerContext[Any, Any],
    ) -> wallet_pb2.GetAccountResponse:
        return wallet_pb2.GetAccountResponse(account=request.account, balance=1_234)


@pytest.fixture
async def wallet() -> Wallet:
    return Wallet()


@pytest.fixture
async def address(wallet: Wallet) -> AsyncIterator[str]:
    server = grpc.aio.server()
    methods: dict[str, grpc.RpcMethodHandler[Any, Any]] = {
        "AuditLedger": grpc.unary_stream_rpc_method_handler(
            wallet.audit_ledger,
            wallet_pb2.AuditLedgerRequest.FromString,
            wallet_pb2.AuditLedgerResponse.SerializeToString,
        ),
        "ExportAnchors": grpc.unary_unary_rpc_method_handler(
            wallet.export_anchors,
            wallet_pb2.ExportAnchorsRequest.FromString,
            wallet_pb2.ExportAnchorsResponse.SerializeToString,
        ),
        "GetAccount": grpc.unary_unary_rpc_method_handler(
            wallet.get_account,
            wallet_pb2.GetAccountRequest.FromString,
            wallet_pb2.GetAccountResponse.SerializeToString,
        ),
    }
    handler = grpc.method_handlers_generic_handler("okey.api.wallet.v1.WalletService", methods)
    server.add_generic_rpc_handlers([handler])
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    yield f"127.0.0.1:{port}"
    await server.stop(None)


@pytest.fixture
def token_file(tmp_path: Path) -> Path:
    path = tmp_path / "token"
    path.write_text("operators-token")
    return path


async def audit(*arguments: str) -> tuple[int, str, str]:
    result = await asyncio.to_thread(CliRunner().invoke, app, ["audit", *arguments])
    return result.exit_code, result.stdout, result.stderr


async def test_a_right_ledger_is_status_0(wallet: Wallet, address: str, token_file: Path) -> None:
    status, output, _ = await audit("--wallet", address, "--token-file", str(token_file))
    assert status == 0
    assert "3 journals, 8 postings: every journal sums to zero" in " ".join(output.split())
    assert "1,234" in output
    assert wallet.tokens == {"Bearer operators-token"}


async def test_findings_are_status_1(wallet: Wallet, address: str, token_file: Path) -> None:
    wallet.findings.append(FINDING)
    status, output, _ = await audit("--wallet", address, "--token-file", str(token_file))
    assert status == 1
    assert "BALANCE_DIFFERS" in output
    assert "player:ayse" in output


async def test_scripts_get_json(wallet: Wallet, address: str, token_file: Path) -> None:
    wallet.findings.append(FINDING)
    status, output, _ = await audit("--wallet", address, "--token-file", str(token_file), "--json")
    document = json.loads(output)
    assert status == 1
    assert (document["journals"], document["postings"]) == (3, 8)
    assert document["house"]["house:rake"] == 1_234
    assert (document["blocks"], document["sealed_journals"]) == (2, 3)
    assert document["findings"] == [
        {
            "kind": "BALANCE_DIFFERS",
            "subject": "player:ayse",
            "expected": 70,
            "actual": 71,
            "table_id": "",
        }
    ]


async def test_heads_are_kept_in_a_file_and_brought_to_the_next_audit(
    wallet: Wallet, address: str, token_file: Path, tmp_path: Path
) -> None:
    way = ("--wallet", address, "--token-file", str(token_file))
    file = tmp_path / "anchors.json"
    for number in (2, 2, 3):
        wallet.head = head(number)
        status, _, _ = await audit(*way, "--export-anchors", str(file))
        assert status == 0
    status, _, _ = await audit(*way, "--anchors", str(file))
    assert status == 0
    assert list(wallet.requests[-1].anchors) == [head(2), head(3)]


async def test_every_anchor_is_compared_a_hundred_an_audit(
    wallet: Wallet, address: str, token_file: Path, tmp_path: Path
) -> None:
    """The newest do not vouch for older ones: they may be heads of a chain that was rewritten."""
    way = ("--wallet", address, "--token-file", str(token_file))
    file, heads = tmp_path / "anchors.json", [head(number) for number in range(1, 252)]
    for each in heads:
        add_anchors(file, wallet_pb2.ExportAnchorsResponse(anchors=[each], public_key="{}"))
    wallet.findings = [wallet_pb2.Finding(subject="block:7")]
    status, output, _ = await audit(*way, "--anchors", str(file), "--json")
    assert status == 1
    assert len(json.loads(output)["findings"]) == 1, "what several audits find is shown once"
    assert [len(each.anchors) for each in wallet.requests] == [100, 100, 51]
    assert [anchor for each in wallet.requests for anchor in each.anchors] == heads


async def test_a_head_in_doubt_is_not_exported(
    wallet: Wallet, address: str, token_file: Path, tmp_path: Path
) -> None:
    wallet.findings.append(FINDING)
    way = ("--wallet", address, "--token-file", str(token_file))
    status, _, _ = await audit(*way, "--export-anchors", str(tmp_path / "anchors.json"))
    assert status == 1
    assert not (tmp_path / "anchors.json").exists()


async def test_a_head_that_cannot_be_written_is_status_2(
    wallet: Wallet, address: str, token_file: Path, tmp_path: Path
) -> None:
    way = ("--wallet", address, "--token-file", str(token_file))
    file = tmp_path / "away" / "anchors.json"
    status, output, error = await audit(*way, "--export-anchors", str(file))
    assert (status, output) == (2, "")
    assert error.startswith("okeyctl: ")
    assert error.count("\n") == 1


async def test_a_file_without_heads_is_status_2(
    wallet: Wallet, address: str, token_file: Path, tmp_path: Path
) -> None:
    (tmp_path / "anchors.json").write_text("{}")
    way = ("--wallet", address, "--token-file", str(token_file))
    status, _, error = await audit(*way, "--anchors", str(tmp_path / "anchors.json"))
    assert status == 2
    assert "holds no exported heads" in error
    assert wallet.requests == []


async def test_accounts_are_frozen_only_when_that_is_asked(
    wallet: Wallet, address: str, token_file: Path
) -> None:
    wallet.findings.append(FINDING)
    way = ("--wallet", address, "--token-file", str(token_file))
    await audit(*way)
    _, output, _ = await audit(*way, "--freeze")
    assert [request.freeze for request in wallet.requests] == [False, True]
    assert "Frozen: player:ayse" in output


async def test_an_address_wants_a_token(address: str) -> None:
    status, _, error = await audit("--wallet", address)
    assert status == 2
    assert "--token-file" in error


async def test_without_a_platform_it_says_how_to_start_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(DATA_DIR_VARIABLE, str(tmp_path))
    status, output, error = await audit()
    assert (status, output) == (2, "")
    assert str(tmp_path) in error
    assert "make run" in error


async def test_a_wallet_that_is_away_is_status_2(address: str, token_file: Path) -> None:
    closed = "127.0.0.1:1"
    status, output, error = await audit("--wallet", closed, "--token-file", str(token_file))
    assert (status, output) == (2, "")
    assert error.startswith("okeyctl: UNAVAILABLE")

"""``okeyctl audit``: what the wallet found, for people and for scripts."""

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import grpc
import pytest
from okey.api.wallet.v1 import wallet_pb2
from okey_runtime.dev_platform import DATA_DIR_VARIABLE
from typer.testing import CliRunner

from services.okeyctl.main import app

FINDING = wallet_pb2.Finding(
    kind=wallet_pb2.FINDING_KIND_BALANCE_DIFFERS, subject="player:ayse", expected=70, actual=71
)


class Wallet:
    """A wallet that has found what it is told to."""

    def __init__(self) -> None:
        self.findings: list[wallet_pb2.Finding] = []
        self.tokens: set[str] = set()

    async def verify_ledger(
        self,
        request: wallet_pb2.VerifyLedgerRequest,
        context: grpc.aio.ServicerContext[Any, Any],
    ) -> wallet_pb2.VerifyLedgerResponse:
        metadata = dict(context.invocation_metadata() or ())
        self.tokens.add(str(metadata["authorization"]))
        return wallet_pb2.VerifyLedgerResponse(
            findings=self.findings, journal_count=3, posting_count=8
        )

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
        "VerifyLedger": grpc.unary_unary_rpc_method_handler(
            wallet.verify_ledger,
            wallet_pb2.VerifyLedgerRequest.FromString,
            wallet_pb2.VerifyLedgerResponse.SerializeToString,
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
    assert document["findings"] == [
        {"kind": "BALANCE_DIFFERS", "subject": "player:ayse", "expected": 70, "actual": 71}
    ]


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

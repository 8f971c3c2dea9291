"""``okeyctl wallet`` and ``okeyctl statement``, on a real wallet."""

import asyncio
import csv
import json
from collections.abc import AsyncIterator
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr
from rich.console import Console
from typer.testing import CliRunner

from okey.api.wallet.v1 import wallet_pb2
from okey_runtime.clock import VirtualClock
from okey_runtime.config import Environment
from okey_runtime.identity import Role
from okey_runtime.keys import KeyFileBroken, create_signing_key
from okey_runtime.server import ServiceServer
from services.okeyctl.app import app
from services.okeyctl.statement import Statement, show
from services.wallet.app import WalletApp, WalletSettings
from services.wallet.chain import ChainKeys
from tests.fixtures.issuer import Issuer

# The wallet's clock stands at 2023-11-14T22:13:20, and a statement ends before its last moment.
STATEMENT = ("statement", "--player", "ada", "--until", "2023-11-15")


@dataclass(frozen=True)
class Operator:
    """An operator of a wallet that opens accounts with 1,000 chips, and a second one.

    Each moves 5,000 chips alone.
    """

    way: tuple[str, ...]
    second_way: tuple[str, ...]

    async def run(self, *command: str) -> tuple[int, str, str]:
        """Status, output and errors of a command."""
        return await self._run(*command, *self.way)

    async def run_as_second(self, *command: str) -> tuple[int, str, str]:
        """The same by the second operator."""
        return await self._run(*command, *self.second_way)

    async def _run(self, *arguments: str) -> tuple[int, str, str]:
        result = await asyncio.to_thread(CliRunner().invoke, app, [*arguments])
        return result.exit_code, result.stdout, result.stderr


def document_in(output: str) -> dict[str, Any]:
    """The JSON at the end; the wallet in this process logs before it."""
    found: dict[str, Any] = json.loads(output[output.index("{\n") :])
    return found


@pytest.fixture
async def operator(tmp_path: Path) -> AsyncIterator[Operator]:
    clock = VirtualClock()
    issuer = Issuer(tmp_path, clock)
    create_signing_key(tmp_path / "chain.json", "chain")
    settings = WalletSettings(
        environment=Environment.TEST,
        database_url=SecretStr(f"sqlite:///{tmp_path / 'wallet.db'}"),
        jwks_file=issuer.jwks_file,
        stop_grace_ms=0,
        welcome_chips=1_000,
        approval_limit_chips=5_000,
        chain_key_file=tmp_path / "chain.json",
    )
    token = issuer.service_token_dir(tmp_path, Role.OPERATOR)
    second = tmp_path / "second-operator.jwt"
    second.write_text(issuer.token("second", [Role.OPERATOR], to="wallet"), "utf-8")
    async with ServiceServer(WalletApp(settings), clock) as server:
        wallet = ("--wallet", server.address, "--token-file")
        yield Operator((*wallet, str(token)), (*wallet, str(second)))


async def test_a_statement_opens_with_the_welcome_grant(operator: Operator) -> None:
    """M3: a player's first journal, then an operator's grant and its reversal, to the last chip."""
    status, output, key = await operator.run("wallet", "grant", "ada", "70", "--reason", "a gift")
    assert (status, output) == (0, "journal 2: 70 chips to ada\n")
    again = ("wallet", "grant", "ada", "70", "--reason", "a gift", "--key", key.split()[1])
    assert (await operator.run(*again))[1] == output
    await operator.run("wallet", "reverse", "2", "--reason", "a mistake")
    status, text, _ = await operator.run(*STATEMENT, "--json")
    statement = document_in(text)
    assert (statement["opening_balance"], statement["closing_balance"]) == (0, 1_000)
    assert [(line["kind"], line["amount"]) for line in statement["postings"]] == [
        ("WELCOME", 1_000),
        ("GRANT", 70),
        ("REVERSAL", -70),
    ]
    assert statement["postings"][2]["reason"] == "a mistake"


async def test_a_statement_of_any_account_goes_by_its_whole_name(operator: Operator) -> None:
    """M3: chips come from issuance, and from nowhere else."""
    await operator.run("wallet", "grant", "ada", "70", "--reason", "a gift")
    issuance = ("statement", "--account", "system:issuance", "--until", "2023-11-15", "--json")
    status, text, _ = await operator.run(*issuance)
    statement = document_in(text)
    assert (status, statement["account"]) == (0, "system:issuance")
    assert sorted(line["amount"] for line in statement["postings"]) == [-1_000, -70]
    status, _, error = await operator.run("statement", "--account", "table:1")
    assert (status, "UNKNOWN_ACCOUNT" in error) == (2, True)


async def test_a_statement_of_a_span_opens_with_what_was_before(operator: Operator) -> None:
    """M3: as CSV and as a table."""
    await operator.run("wallet", "grant", "ada", "70", "--reason", "a gift")
    later = ("statement", "--player", "ada", "--from", "2023-11-15")
    status, text, _ = await operator.run(*later, "--csv")
    lines = list(csv.DictReader(text.splitlines()))
    assert [(line["kind"], line["balance"]) for line in lines] == [
        ("OPENING", "1070"),
        ("CLOSING", "1070"),
    ]
    status, text, _ = await operator.run(*STATEMENT)
    assert status == 0
    assert "1,070" in text
    assert "+70" in text
    assert (await operator.run(*later, "--csv", "--json"))[0] == 2


async def test_a_bare_date_is_its_whole_day(operator: Operator) -> None:
    """The grant is booked on 2023-11-14 at 22:13 UTC."""
    await operator.run("wallet", "grant", "ada", "70", "--reason", "a gift")
    the_day = ("--from", "2023-11-14", "--until", "2023-11-14", "--json")
    status, text, _ = await operator.run("statement", "--player", "ada", *the_day)
    statement = document_in(text)
    assert (status, statement["opening_balance"], statement["closing_balance"]) == (0, 0, 1_070)
    day_before = ("--until", "2023-11-13", "--json")
    _, text, _ = await operator.run("statement", "--player", "ada", *day_before)
    assert document_in(text)["postings"] == []


async def test_a_statement_that_ends_before_it_begins_is_refused(operator: Operator) -> None:
    backwards = ("--from", "2023-11-15", "--until", "2023-11-14")
    status, text, error = await operator.run(
        "statement", "--account", "system:issuance", *backwards
    )
    assert (status, text) == (2, "")
    assert "--from 2023-11-15 is after --until 2023-11-14" in error


async def test_a_reason_cannot_be_a_formula_of_a_spreadsheet(operator: Operator) -> None:
    await operator.run("wallet", "grant", "ada", "70", "--reason", "=1+1")
    _, text, _ = await operator.run(*STATEMENT, "--csv")
    lines = list(csv.DictReader(text.splitlines()))
    assert [(line["amount"], line["reason"]) for line in lines[1:-1]] == [
        ("1000", ""),
        ("70", "'=1+1"),
    ]


async def test_a_piped_statement_is_whole(operator: Operator) -> None:
    reason = "a gift [red]" + " and more" * 12
    await operator.run("wallet", "grant", "ada", "70", "--reason", reason)
    _, text, _ = await operator.run(*STATEMENT)
    assert "2023-11-14T22:13:20.000+00:00" in text
    assert reason in text


def test_a_statement_shows_nothing_that_steers_a_terminal() -> None:
    posting = wallet_pb2.Posting(amount=7, balance_after=7, reason="a\x1b[2J gift")
    out = StringIO()
    show(Statement("player:ada", 0, (posting,), 7), Console(file=out, width=200))
    assert "\x1b" not in out.getvalue()
    assert "a[2J gift" in out.getvalue()


def test_a_narrow_terminal_cuts_no_number() -> None:
    posting = wallet_pb2.Posting(amount=-1_234_567, balance_after=7_654_321, table_id="T" * 26)
    out = StringIO()
    console = Console(file=out, force_terminal=True, width=80, color_system=None)
    show(Statement("player:ada", 8_888_888, (posting,), 7_654_321), console)
    assert "-1,234,567" in out.getvalue()
    assert out.getvalue().count("7,654,321") == 2
    assert out.getvalue().count("T") >= 26


@pytest.mark.parametrize(
    "command",
    [
        ("statement", "--player", "x y"),
        ("statement",),
        ("statement", "--player", "ayse", "--account", "house:rake"),
        ("wallet", "freeze", "x y", "--reason", "x"),
        ("wallet", "grant", "ayse", "99999999999999999999", "--reason", "x"),
        ("wallet", "reverse", "99999999999999999999", "--reason", "x"),
    ],
)
def test_what_no_wallet_would_take_is_refused_in_one_line(command: tuple[str, ...]) -> None:
    result = CliRunner().invoke(app, command)
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith("okeyctl: ")
    assert result.stderr.count("\n") == 1


async def test_a_frozen_account_can_be_given_to_but_not_taken_from(operator: Operator) -> None:
    """M3: until the freeze is lifted."""
    await operator.run("wallet", "grant", "ada", "70", "--reason", "a gift")
    freeze = ("wallet", "freeze", "ada", "--reason", "in doubt")
    assert (await operator.run(*freeze))[1] == "player:ada is frozen\n"
    assert (await operator.run(*freeze))[1] == "player:ada was frozen already\n"
    reverse = ("wallet", "reverse", "2", "--reason", "a mistake")
    status, _, error = await operator.run(*reverse)
    assert status == 2
    assert "frozen" in error
    assert (await operator.run("wallet", "grant", "ada", "5", "--reason", "x"))[0] == 0
    unfreeze = ("wallet", "unfreeze", "ada", "--reason", "all is well")
    assert (await operator.run(*unfreeze))[1] == "player:ada is not frozen any more\n"
    assert (await operator.run(*reverse))[0] == 0
    assert (await operator.run("wallet", "freeze", "nobody", "--reason", "x"))[0] == 2


async def test_an_exported_head_is_held_against_the_chain(
    operator: Operator, tmp_path: Path
) -> None:
    """M5: through the command, the wallet and its key."""
    await operator.run("wallet", "grant", "ada", "70", "--reason", "a gift")
    file = tmp_path / "anchors.json"
    assert (await operator.run("audit", "--export-anchors", str(file)))[0] == 0
    status, text, _ = await operator.run("audit", "--anchors", str(file), "--json")
    audited = document_in(text)
    assert (status, audited["findings"], audited["sealed_journals"]) == (0, [], 2)
    document = json.loads(file.read_text())
    document["anchors"][0]["block_no"] = "9"
    file.write_text(json.dumps(document))
    status, text, _ = await operator.run("audit", "--anchors", str(file), "--json")
    assert status == 1
    assert [finding["kind"] for finding in document_in(text)["findings"]] == ["ANCHOR_FORGED"]


async def test_a_made_key_is_good_for_the_chain_and_never_overwritten(tmp_path: Path) -> None:
    """M5: readable by its owner alone, and as text in a secret."""
    file = tmp_path / "key.json"

    async def make() -> tuple[int, str]:
        result = await asyncio.to_thread(
            CliRunner().invoke, app, ["wallet", "chain-key", str(file)]
        )
        return result.exit_code, result.stdout

    status, output = await make()
    assert (status, file.stat().st_mode & 0o777) == (0, 0o600)
    keys = ChainKeys.parse(file.read_text(), None)
    assert keys.key_id == ChainKeys.load(file, None).key_id
    assert keys.key_id in output
    assert (await make())[0] == 2
    with pytest.raises(KeyFileBroken, match="OKEY_CHAIN_KEY"):
        ChainKeys.parse("{}", None)


GRANT = ("wallet", "grant", "ada", "5001", "--reason", "a [red]prize", "--key", "k1")
APPROVALS = ("wallet", "approvals")


async def test_a_grant_above_the_limit_says_what_to_do_and_is_approved(operator: Operator) -> None:
    """M3: the requester's own command shows the receipt in the end."""
    status, _, error = await operator.run(*GRANT)
    assert (status, "APPROVAL_NEEDED" in error) == (2, True)
    assert "okeyctl wallet approvals approve 1" in error
    _, listed, _ = await operator.run_as_second(*APPROVALS, "list")
    assert "+5,001" in listed
    assert "[red]" in listed
    approve = (*APPROVALS, "approve", "1", "--reason", "checked")
    status, _, error = await operator.run(*approve)
    assert (status, "SECOND_OPERATOR_NEEDED" in error) == (2, True)
    status, booked, _ = await operator.run_as_second(*approve)
    assert (status, booked.splitlines()[-1]) == (
        0,
        "journal 2: +5,001 chips on player:ada, asked for by operator-service, approved by second",
    )
    assert (await operator.run(*GRANT))[:2] == (0, "journal 2: 5,001 chips to ada\n")
    _, listed, _ = await operator.run(*APPROVALS, "list", "--json")
    assert "approval_id" not in listed
    _, listed, _ = await operator.run(*APPROVALS, "list", "--all", "--json")
    found = json.loads(listed.splitlines()[-1])
    assert (found["state"], found["decided_by"]) == ("APPROVAL_STATE_APPROVED", "second")


async def test_a_request_is_rejected(operator: Operator) -> None:
    """M3."""
    await operator.run(*GRANT)
    reject = (*APPROVALS, "reject", "1", "--reason", "not known here")
    status, output, _ = await operator.run_as_second(*reject)
    assert (status, output.splitlines()[-1]) == (0, "request 1 of operator-service is rejected")
    status, _, error = await operator.run(*GRANT)
    assert (status, "not known here" in error) == (2, True)


async def test_an_id_of_the_house_gets_no_chips(operator: Operator) -> None:
    """M3: refused before the wallet is asked."""
    for player in ("house:rake", "player:ada", "bot:7"):
        status, _, error = await operator.run("wallet", "grant", player, "5", "--reason", "r")
        assert (status, "no player's" in error) == (2, True)

"""The trail of what operators do."""

import json
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from okey.api.engine.v1 import revocations_pb2
from okey.api.wallet.v1 import wallet_pb2
from okey_runtime.identity import Identity, Role
from okey_runtime.logging import LogFormat, configure_logging
from okey_runtime.trail import OperatorTrail
from tests.unit.runtime.conftest import Connect
from tests.unit.runtime.echo import UNARY, ask
from tests.unit.runtime.tokens import Issuer

OPERATOR = Identity("op-1", frozenset({Role.OPERATOR}), "", 0)
GRANT = wallet_pb2.GrantChipsRequest(
    idempotency_key="k-1", player_id="ayse", amount=5, reason="a prize"
)


def test_a_line_tells_who_did_what_to_which_object_and_how_it_ended() -> None:
    with capture_logs() as lines:
        OperatorTrail().ended(OPERATOR, "/w/GrantChips", GRANT, "OK", "")
    [line] = lines
    assert line["operator"] == "op-1"
    assert line["call"] == "/w/GrantChips"
    assert line["about"] == {
        "idempotency_key": "k-1",
        "player_id": "ayse",
        "amount": 5,
        "reason": "a prize",
    }
    assert (line["outcome"], line["refusal"]) == ("OK", "")


def test_a_line_tells_whether_an_erasure_was_only_tried_or_of_an_id_that_nobody_knew() -> None:
    tried = wallet_pb2.ErasePlayerRequest(player_id="ayse", check_only=True)
    unknown = wallet_pb2.ErasePlayerRequest(player_id="ayse", allow_unknown=True)
    with capture_logs() as lines:
        for request in (tried, unknown):
            OperatorTrail().ended(OPERATOR, "/w/ErasePlayer", request, "OK", "")
    assert [line["about"] for line in lines] == [
        {"player_id": "ayse", "check_only": True},
        {"player_id": "ayse", "allow_unknown": True},
    ]


def test_the_identity_provider_leaves_a_line_too() -> None:
    provider = Identity("login", frozenset({Role.IDENTITY}), "", 0)
    request = revocations_pb2.RevokeTokensRequest(
        player_id="ayse", issued_before_ms=7, reason="password stolen"
    )
    with capture_logs() as lines:
        OperatorTrail().ended(provider, "/e/RevokeTokens", request, "OK", "")
    [line] = lines
    assert (line["operator"], line["roles"]) == ("login", ["identity"])
    assert line["about"] == {
        "player_id": "ayse",
        "issued_before_ms": 7,
        "reason": "password stolen",
    }


@pytest.mark.parametrize("role", sorted(set(Role) - {Role.OPERATOR, Role.IDENTITY}))
def test_others_than_operators_leave_no_trail(role: Role) -> None:
    with capture_logs() as lines:
        OperatorTrail().ended(Identity("x", frozenset({role}), "", 0), "/w/X", GRANT, "OK", "")
        OperatorTrail().ended(None, "/w/X", GRANT, "OK", "")
    assert lines == []


async def test_a_refused_call_of_an_operator_is_on_the_trail(
    connect: Connect, issuer: Issuer
) -> None:
    caller = await connect(issuer.token("op-1", [Role.OPERATOR]))
    with capture_logs() as lines:
        await caller.failure(UNARY, ask())
    [line] = [line for line in lines if line["event"] == "operator_call"]
    assert (line["operator"], line["outcome"], line["refusal"]) == (
        "op-1",
        "PERMISSION_DENIED",
        "ROLE_REFUSED",
    )


@pytest.mark.usefixtures("fresh_logging")
def test_the_trail_has_a_file_of_its_own_whatever_the_logs_level(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "audit.jsonl"
    for _ in range(2):  # added to over restarts
        configure_logging("wallet", "ERROR", LogFormat.JSON, file)
        OperatorTrail().ended(OPERATOR, "/w/GrantChips", GRANT, "OK", "")
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    assert [line["operator"] for line in lines] == ["op-1", "op-1"]
    assert lines[0]["logger"] == "okey.audit"
    assert file.stat().st_mode & 0o077 == 0
    assert capsys.readouterr().err.count("operator_call") == 2
    configure_logging("wallet", "ERROR")

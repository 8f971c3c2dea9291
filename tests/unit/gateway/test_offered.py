"""What the gateway passes on: what players may call, and nothing else."""

import re
from pathlib import Path

import pytest

from okey_runtime.identity import Role
from services.gateway.offered import OFFERED, RpcNotOffered, find_rpc
from tests.unit.test_access_tables import proto_services, roles_in_code

ROOT = Path(__file__).resolve().parents[3]
ROW = re.compile(r"^\| `(\w+Service)` \| ((?:`\w+`(?:, )?)+) \|$", re.MULTILINE)


def unary() -> set[str]:
    """Every RPC of the protos that takes one message and gives one."""
    return {
        f"{service.name}/{method.name}"
        for service in proto_services()
        for method in service.methods
        if not (method.client_streaming or method.server_streaming)
    }


def test_every_call_of_players_that_is_no_stream_is_offered_and_no_other() -> None:
    players = {
        name.replace(".", "/") for name, roles in roles_in_code().items() if Role.PLAYER in roles
    }
    assert OFFERED.keys() == players & unary()


def test_the_page_lists_what_is_offered() -> None:
    page = (ROOT / "docs/gateway.md").read_text("utf-8")
    listed = [
        f"{service}/{method}"
        for service, methods in ROW.findall(page)
        for method in re.findall(r"\w+", methods)
    ]
    assert listed == list(OFFERED)


@pytest.mark.parametrize(
    ("service", "method"),
    [("TableService", "OpenTable"), ("OperatorService", "VoidMatch"), ("", ""), ("x", "y/z")],
)
def test_other_calls_are_refused_by_name(service: str, method: str) -> None:
    with pytest.raises(RpcNotOffered, match=f"'{service}/{method}' is not offered"):
        find_rpc(service, method)

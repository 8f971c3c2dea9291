"""Every RPC of every proto has a rule in its service's access table; docs/api.md tells the same.

What is compared: the RPCs that the protos declare, the rules that a running service would enforce,
the roles that the protos' comments name, and the table of roles in docs/api.md.
"""

import importlib
import pkgutil
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from google.protobuf.descriptor import ServiceDescriptor

import okey.api
from okey_runtime import status_servicer
from okey_runtime.access import PUBLIC, AccessTable, Public
from okey_runtime.config import ServiceSettings
from okey_runtime.identity import SERVICE_ROLES, Role
from okey_runtime.server import App
from services.bots.app import BotsApp
from services.engine.app import EngineApp
from services.engine.settings import EngineSettings
from services.lobby.app import LobbyApp
from services.lobby.settings import LobbySettings
from services.rating.app import RatingApp
from services.rating.settings import RatingSettings
from services.wallet.app import WalletApp, WalletSettings
from tools.reference import guide

ROOT = Path(__file__).resolve().parents[2]

# Settings without values: an app that is only asked what it serves reads none.
APPS: dict[str, App] = {
    "lobby": LobbyApp(LobbySettings.model_construct()),
    "engine": EngineApp(EngineSettings.model_construct()),
    "wallet": WalletApp(WalletSettings.model_construct()),
    "rating": RatingApp(RatingSettings.model_construct()),
    "bots": BotsApp(ServiceSettings.model_construct()),
}

COST_IN_DOCS = re.compile(r"^\| `(\w+/\w+)` \| (\d+) \|$", re.MULTILINE)
RPC_IN_PROTO = re.compile(r"((?:\n  // .*)+)\n  rpc (\w+)\(")
ROLES_IN_COMMENT = re.compile(r"\bRoles: ([a-z, ]+)\.")


def proto_services() -> Iterator[ServiceDescriptor]:
    """Every service that our protos declare."""
    for found in pkgutil.walk_packages(okey.api.__path__, "okey.api."):
        if found.name.endswith("_pb2"):
            file = importlib.import_module(found.name).DESCRIPTOR
            yield from file.services_by_name.values()


def methods_of(service: ServiceDescriptor) -> set[str]:
    return {f"/{service.full_name}/{method.name}" for method in service.methods}


def differences(access: AccessTable, declared: set[str]) -> list[str]:
    """RPCs without a rule, rules without an RPC, and rules that let nobody or everybody in."""
    rules = access.rules()
    open_or_shut = [method for method, rule in rules.items() if rule is PUBLIC or not rule]
    return sorted([*(rules.keys() ^ declared), *open_or_shut])


def roles_in_code(*tables: AccessTable) -> dict[str, frozenset[Role]]:
    """`Service.Method` -> its roles, of every service and of other tables."""
    found: dict[str, frozenset[Role]] = {}
    for table in (*(app.access for app in APPS.values()), *tables):
        for method, rule in table.rules().items():
            assert not isinstance(rule, Public), f"{method} is open to everybody"
            service, _, name = method.rpartition("/")
            found[f"{service.rpartition('.')[2]}.{name}"] = rule
    return found


def roles_in_protos() -> dict[str, frozenset[Role]]:
    """`Service.Method` -> its roles, for the RPCs whose comment says "Roles: ..."."""
    found = {}
    for path in sorted((ROOT / "protos/okey").rglob("*.proto")):
        for block in re.split(r"^service ", path.read_text("utf-8"), flags=re.MULTILINE)[1:]:
            service = block.partition(" ")[0]
            for comment, method in RPC_IN_PROTO.findall(block):
                said = ROLES_IN_COMMENT.search(re.sub(r"\n  //", "", comment))
                if said:
                    found[f"{service}.{method}"] = frozenset(map(Role, said[1].split(", ")))
    return found


@pytest.mark.parametrize("name", APPS)
def test_access_table_lists_exactly_the_rpcs_that_the_service_serves(name: str) -> None:
    app = APPS[name]
    served = [each for each in proto_services() if each.full_name in app.services]
    assert len(served) == len(app.services), "a name that no proto declares"
    assert differences(app.access, set().union(*map(methods_of, served))) == []


@pytest.mark.parametrize("name", APPS)
def test_a_service_that_others_call_by_their_role_says_so(name: str) -> None:
    """Over TLS it has to ask for certificates then. All processes tell services their status."""
    called_by = frozenset[Role]().union(
        *(rule for rule in APPS[name].access.rules().values() if not isinstance(rule, Public))
    )
    assert APPS[name].settings.takes_service_calls == bool(called_by & SERVICE_ROLES)


def test_every_service_of_the_protos_is_served_once() -> None:
    """All processes serve their status beside it."""
    declared = sorted(service.full_name for service in proto_services())
    served = [name for app in APPS.values() for name in app.services]
    assert sorted([*served, status_servicer.SERVICE]) == declared
    assert len(declared) >= 7


def test_the_guide_tells_of_every_rpc_who_may_call_it_and_what_for() -> None:
    """``guide.rpcs`` refuses a row without one of them."""
    page = guide.rpcs(guide.PAGE.read_text("utf-8"))
    in_code = roles_in_code(status_servicer.ACCESS)
    declared = {f"{each.name}.{one.name}" for each in proto_services() for one in each.methods}
    assert page.keys() == declared
    assert {name: frozenset(map(Role, rpc.roles)) for name, rpc in page.items()} == in_code


def test_the_roles_in_the_protos_are_those_in_the_code() -> None:
    said, in_code = roles_in_protos(), roles_in_code(status_servicer.ACCESS)
    assert len(said) > 20, "the comments are not read"
    assert said == {method: in_code.get(method) for method in said}


TABLE = AccessTable.of("a.BService", {"C": {Role.PLAYER}, "D": {Role.PLAYER}})


def test_a_missing_and_an_invented_rpc_are_found() -> None:
    declared = {"/a.BService/C", "/a.BService/E"}
    assert differences(TABLE, declared) == ["/a.BService/D", "/a.BService/E"]


def test_a_rule_for_everybody_or_nobody_is_found() -> None:
    table = AccessTable.of("a.BService", {"C": PUBLIC, "D": set(), "E": {Role.PLAYER}})
    assert differences(table, set(table.rules())) == ["/a.BService/C", "/a.BService/D"]


def test_the_documented_costs_are_those_of_the_code() -> None:
    text = (ROOT / "docs/security.md").read_text("utf-8").partition("### What calls cost")[2]
    documented = {rpc: int(cost) for rpc, cost in COST_IN_DOCS.findall(text)}
    costs = {
        method.rpartition(".")[2]: cost
        for app in APPS.values()
        for method, cost in app.access.costs().items()
    }
    assert documented == costs
    assert min(costs.values()) > 1

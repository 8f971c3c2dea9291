"""A cluster's processes: several of most services, one target for all of each, one PostgreSQL."""

import signal
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from okey_runtime.clock import VirtualClock
from okey_runtime.keys import create_signing_key
from services.standalone.plan import DATABASES, ChildPlan, plan_children
from services.standalone.ports import Ports
from services.standalone.postgres import ClusterPostgres, PostgresFailed
from services.standalone.shape import CLUSTER, POSTGRES, SINGLE, VALKEY
from services.standalone.tokens import ServiceTokens

PORTS = {name: Ports(7500 + index, 7520 + index) for index, name in enumerate(CLUSTER.names)}
ENGINES = "ipv4:127.0.0.1:7503,127.0.0.1:7504,127.0.0.1:7505"


@pytest.fixture
def postgres(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ClusterPostgres]:
    (tmp_path / "postgres-password").write_text("se:cret")
    # Not pytest's own folder: only its owner may enter that.
    with tempfile.TemporaryDirectory(prefix="okey-pg-", dir="/tmp") as homes:
        Path(homes).chmod(0o755)
        monkeypatch.setattr("services.standalone.postgres._ROOTS_HOMES", Path(homes))
        yield ClusterPostgres(tmp_path, 7514)


@pytest.fixture
def plans(tmp_path: Path, postgres: ClusterPostgres) -> dict[str, ChildPlan]:
    tokens = ServiceTokens(create_signing_key(tmp_path / "key"), tmp_path / "t", VirtualClock())
    planned = plan_children(CLUSTER, tmp_path, PORTS, tokens, {}, postgres)
    return {plan.name: plan for plan in planned}


def test_there_are_as_many_of_each_as_the_page_says() -> None:
    kinds = [part.kind for part in CLUSTER.parts]
    counts = {kind: kinds.count(kind) for kind in kinds}
    services = {"gateway": 1, "lobby": 2, "engine": 3, "wallet": 2, "rating": 2, "bots": 3}
    assert counts == services | {VALKEY: 1, POSTGRES: 1}
    page = (Path(__file__).parents[3] / "docs" / "cluster.md").read_text("utf-8")
    for part in CLUSTER.parts:
        assert f"`{part.name}`" in page, part.name


def test_one_process_of_a_service_has_the_services_name() -> None:
    assert SINGLE.names == ("gateway", "lobby", "engine", "wallet", "rating", "bots", VALKEY)


def test_callers_are_given_all_processes_of_a_service(plans: dict[str, ChildPlan]) -> None:
    for name in ("lobby-1", "lobby-2", "engine-3", "wallet-2"):
        assert plans[name].environment["OKEY_ENGINE_ADDRESS"] == ENGINES


def test_every_engine_is_a_member_of_its_own_name(plans: dict[str, ChildPlan]) -> None:
    engines = [plan for plan in plans.values() if plan.kind == "engine"]
    assert [plan.environment["OKEY_ENGINE_NAME"] for plan in engines] == [p.name for p in engines]


def test_processes_of_a_service_share_its_database_and_no_other(
    plans: dict[str, ChildPlan],
) -> None:
    urls = {
        kind: {p.environment["OKEY_DATABASE_URL"] for p in plans.values() if p.kind == kind}
        for kind in DATABASES
    }
    assert urls == {
        kind: {f"postgresql://okey:se%3Acret@127.0.0.1:7514/{kind}"} for kind in DATABASES
    }


def test_postgres_is_stopped_without_waiting_for_its_clients(plans: dict[str, ChildPlan]) -> None:
    assert plans[POSTGRES].stop_signal is signal.SIGINT
    assert plans["engine-1"].stop_signal is signal.SIGTERM


def test_postgres_listens_on_loopback_only(plans: dict[str, ChildPlan]) -> None:
    command = plans[POSTGRES].command
    assert "listen_addresses=127.0.0.1" in command
    assert "unix_socket_directories=" in command


def test_its_data_and_password_are_made_once(postgres: ClusterPostgres, tmp_path: Path) -> None:
    """And a server that was killed is forgotten."""
    postgres.prepare(["engine"])
    password = (tmp_path / "postgres-password").read_text()
    assert password != "se:cret"
    made = {path: path.stat().st_mtime_ns for path in postgres.home.glob("data/base/*")}
    (postgres.home / "data" / "postmaster.pid").write_text("1\n")
    postgres.prepare(["engine"])
    assert (tmp_path / "postgres-password").read_text() == password
    assert made == {path: path.stat().st_mtime_ns for path in postgres.home.glob("data/base/*")}
    assert not (postgres.home / "data" / "postmaster.pid").exists()
    assert not (postgres.home / "password").exists()


def test_a_folder_that_somebody_else_has_made_is_not_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Root's data lie where anybody may make folders."""
    monkeypatch.setattr("services.standalone.postgres._ROOTS_HOMES", tmp_path)
    first = ClusterPostgres(tmp_path, 7514)
    first.home.rename(tmp_path / "elsewhere")
    first.home.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(PostgresFailed, match="belongs to somebody else"):
        ClusterPostgres(tmp_path, 7514)

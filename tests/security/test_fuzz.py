"""Whatever is sent to whichever RPC: no crash, no INTERNAL, and a refused call changes nothing."""

import sys
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import grpc
import pytest
from grpc_health.v1 import health_pb2
from grpc_reflection.v1alpha import reflection_pb2
from structlog.testing import capture_logs

from okey.api.engine.v1 import engine_pb2, engine_pb2_grpc
from okey_runtime.access import Public
from okey_runtime.identity import Role
from okey_runtime.service_token import fixed_token
from tests.integration.engine.platform import playing, view_of
from tests.security.fuzzing import Gun, Shot
from tests.security.ledgers import Ledgers
from tests.security.rpcs import Rpc, access_of, callee_of, every_rpc
from tests.security.stand import Everything, Outcome
from tests.unit.test_access_tables import APPS

UNFORESEEN = {
    grpc.StatusCode.INTERNAL,
    grpc.StatusCode.UNKNOWN,
    grpc.StatusCode.DATA_LOSS,
    grpc.StatusCode.UNIMPLEMENTED,
    grpc.StatusCode.ABORTED,
}
HEALTH = "grpc.health.v1.Health"
TRIES = 5
TTL_MS = 7_200_000
"""However long it takes on a busy machine, no token ends before it."""
REFLECT = "ServerReflectionInfo"
REFLECTION = "grpc.reflection.v1alpha.ServerReflection"


@dataclass
class Report:
    """What was tried and what came of it."""

    inputs: Counter[str] = field(default_factory=Counter)
    codes: Counter[str] = field(default_factory=Counter)
    faults: list[str] = field(default_factory=list)
    rpcs: set[str] = field(default_factory=set)

    def add(self, shot: Shot, outcome: Outcome, changed: bool) -> None:
        self.inputs[shot.kind] += 1
        self.codes[outcome.code.name] += 1
        self.rpcs.add(shot.rpc.path)
        said = f"#{shot.number} {shot.rpc.short} as {shot.role}, {shot.kind}: {outcome}"
        if outcome.code in UNFORESEEN:
            self.faults.append(f"{said}; sent {[p.hex() for p in shot.payloads]}")
        elif outcome.is_refused and changed and not _gave_the_seat_back(outcome):
            self.faults.append(f"{said} was refused and changed something")
        elif outcome.is_refused and not outcome.reason and not _is_grpcs_own(shot, outcome):
            self.faults.append(f"{said} was refused without a reason")

    def told(self) -> str:
        inputs = ", ".join(f"{count:,} of {kind}" for kind, count in sorted(self.inputs.items()))
        codes = ", ".join(f"{code} {count:,}" for code, count in self.codes.most_common())
        return f"{sum(self.inputs.values()):,} inputs to {len(self.rpcs)} RPCs ({inputs}): {codes}"


def _is_grpcs_own(shot: Shot, outcome: Outcome) -> bool:
    """Whether gRPC refused it by itself: its own services, and messages beyond its limit."""
    is_too_large = outcome.message.startswith("SERVER: Received message larger than max")
    return shot.rpc.service.startswith("grpc.") or is_too_large


def _gave_the_seat_back(outcome: Outcome) -> bool:
    """A stake that the wallet declines is no refusal: the seat was taken first (docs/api.md)."""
    return "the seat is free again" in outcome.message


def targets() -> list[Rpc]:
    """Every RPC of ours, and health and reflection where they are served."""
    found = every_rpc()
    for home in APPS:
        check, ask = health_pb2.HealthCheckRequest, reflection_pb2.ServerReflectionRequest
        found += [
            Rpc(home, HEALTH, "Check", check, takes_stream=False, gives_stream=False),
            Rpc(home, HEALTH, "Watch", check, takes_stream=False, gives_stream=True),
            Rpc(
                home, REFLECTION, "ServerReflectionInfo", ask, takes_stream=True, gives_stream=True
            ),
        ]
    return found


def roles_of(rpc: Rpc) -> frozenset[Role]:
    rule = access_of(rpc.home).rules().get(rpc.path, frozenset())
    assert not isinstance(rule, Public)
    return rule


async def known_values(world: Everything) -> tuple[dict[str, list[Any]], list[str]]:
    """Ids that mean something: a running table and one that waits, their players, their match; and
    of the tables that operators may have.
    """
    running, mover, waiter = await playing(world)
    waiting = await world.open_table("carl")
    view = await view_of(world, running, mover)
    given_up = await world.open_table("erna")
    players = [mover, waiter, "carl", "dora"]
    known: dict[str, list[Any]] = {
        "table_id": [running, waiting, running, waiting, "a" * 26],
        "player": players,
        "player_id": players,
        "account": [*(f"player:{player}" for player in players), f"escrow:{waiting}", "house:rake"],
        "match_id": [f"{running}-1", "fuzz-1"],
        "turn": [view.round.turn.number, view.round.turn.number + 1],
        "tile": list(view.round.rack[:4]) or [1, 2],
        "seat_count": [2, 4],
        "rules_version": ["1", "2026-1"],
    }
    return known, [given_up, "b" * 26]


async def fuzz(world: Everything, count: int, seed: int) -> Report:
    """So many shots one after another, each judged by its answer and by the databases."""
    rpcs = targets()
    gun = Gun(rpcs, {rpc.path: roles_of(rpc) for rpc in rpcs}, seed)
    gun.known, gun.operators_tables = await known_values(world)
    tokens = {
        (home, role): [
            world.issuer.token(name, [role], ttl_ms=TTL_MS, to=callee_of(home, role))
            for name in ("carl", "dora")
        ]
        for home in APPS
        for role in Role
    }
    report, ledgers = Report(), Ledgers(world.folder)
    before = ledgers.state()
    lasting = fixed_token(world.issuer.token("op", [Role.OPERATOR], ttl_ms=TTL_MS, to="engine"))
    operator = engine_pb2_grpc.OperatorServiceStub(await world.channel_with(lasting))
    for shot in gun.shots(count):
        token = None if shot.role is None else tokens[shot.rpc.home, shot.role][shot.number % 2]
        outcome = await fired(world, shot, token)
        if shot.rpc.name == "SetMaintenance":  # or all that follows would be refused for it
            await operator.SetMaintenance(engine_pb2.SetMaintenanceRequest())
            before = ledgers.state()
        after = ledgers.state()
        report.add(shot, outcome, changed=after != before)
        before = after
    ledgers.close()
    return report


async def fired(world: Everything, shot: Shot, token: str | None) -> Outcome:
    """How the call ended.

    Where a stream's refusal overtakes its further messages gRPC makes an end up; the first message
    alone tells what it was.
    """
    outcome = await world.call(shot.rpc, shot.payloads, token, patience_s=0.05)
    for _ in range(TRIES):
        if not (shot.rpc.takes_stream and outcome.is_refused and not outcome.reason):
            break
        outcome = await world.call(shot.rpc, shot.payloads[:1], token, patience_s=0.05)
    return outcome


def judge(report: Report, lines: list[dict[str, object]]) -> None:
    sys.stdout.write(f"{report.told()}\n")
    unexpected = [line for line in lines if line.get("event") == "unexpected_error"]
    assert report.faults[:10] == []
    assert unexpected[:3] == []
    assert report.rpcs == {rpc.path for rpc in targets()}
    assert report.codes["OK"] > 0
    # Nothing that was sent has ended a service, or all that followed would have found none.
    assert report.codes["UNAVAILABLE"] < sum(report.codes.values()) / 100
    assert report.codes["INVALID_ARGUMENT"] > report.codes["OK"]


async def test_hostile_input_is_refused_by_name_and_changes_nothing(world: Everything) -> None:
    """2,000 inputs, a fixed seed."""
    with capture_logs() as lines:
        report = await fuzz(world, 2_000, seed=9)
    judge(report, [dict(line) for line in lines])


@pytest.mark.long
@pytest.mark.timeout(3_600)
async def test_a_hundred_thousand_hostile_inputs(world: Everything, tmp_path: Path) -> None:
    with capture_logs() as lines:
        report = await fuzz(world, 100_000, seed=2026)
    judge(report, [dict(line) for line in lines])

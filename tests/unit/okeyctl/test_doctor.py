"""The doctor names what is wrong, with its value, and what to do: one thing broken at a time."""

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import grpc
import pytest
from rich.console import Console

from okey.api.common.v1 import status_pb2
from okey.api.engine.v1 import engine_pb2
from okey.api.wallet.v1 import wallet_pb2
from okey_runtime.errors import RpcFailure
from okey_runtime.status import OK, WRONG
from services.okeyctl.doctor.judge import Finding, State, judge
from services.okeyctl.doctor.observe import Observed, Seen, resolve
from services.okeyctl.doctor.show import as_json, is_well, show, verdict

NOW_MS = 1_700_000_000_000
FACTS = {"issuer": "https://login", "audience": "okey", "keys": "k1"}


def seen(kind: str, number: int, **facts: str) -> Seen:
    name = f"{kind}-{number}"
    status = status_pb2.GetStatusResponse(
        service=kind, name=name, version="1.0", now_ms=NOW_MS, facts=FACTS | facts
    )
    address = f"10.0.0.{number}:7400"
    return Seen(
        *(kind, address, name),
        is_live=True,
        is_ready=True,
        status=status,
        asked_ms=NOW_MS - 5,
        answered_ms=NOW_MS + 5,
    )


def engine(number: int, **facts: str) -> Seen:
    return seen("engine", number, database="postgresql://db/engine", schema="0004", **facts)


def shards(*owners: str) -> engine_pb2.ListShardsResponse:
    members = {
        name: engine_pb2.EngineMember(
            engine=name,
            address="10.0.0.9:7400",
            lease_left_ms=5_000,
            is_taking=True,
            shards=owners.count(name),
        )
        for name in ("engine-1", "engine-2")
    }
    places = [engine_pb2.ShardPlace(shard=n, engine=owner) for n, owner in enumerate(owners)]
    return engine_pb2.ListShardsResponse(engines=members.values(), shards=places)


def well() -> Observed:
    ledger = wallet_pb2.VerifyLedgerResponse(journal_count=3, posting_count=7)
    every = [engine(1), engine(2), seen("wallet", 3), seen("lobby", 4)]
    return Observed(every, {}, shards("engine-1", "engine-2", "engine-1"), ledger)


def with_seen(index: int, change: Callable[[Seen], Seen]) -> Observed:
    """All is well but for one process."""
    observed = well()
    every = list(observed.seen)
    every[index] = change(every[index])
    return replace(observed, seen=every)


def with_status(index: int, changes: status_pb2.GetStatusResponse) -> Observed:
    """One process tells something else; what is not set is as it is with all."""

    def change(seen: Seen) -> Seen:
        status = status_pb2.GetStatusResponse()
        assert seen.status is not None
        status.CopyFrom(seen.status)
        status.MergeFrom(changes)
        return replace(seen, status=status)

    return with_seen(index, change)


def told(**fields: Any) -> status_pb2.GetStatusResponse:
    return status_pb2.GetStatusResponse(**fields)


def bad(observed: Observed) -> list[Finding]:
    return [finding for finding in judge(observed) if finding.state is not State.OK]


def the_bad_one(observed: Observed) -> Finding:
    (finding,) = bad(observed)
    assert finding.advice, "it says what to do"
    return finding


def refused(code: grpc.StatusCode, reason: str) -> RpcFailure:
    return RpcFailure(code, reason, "because", {})


def test_nothing_is_wrong_where_nothing_is() -> None:
    assert bad(well()) == []
    assert len(judge(well())) > 20, "it has looked"


def test_an_address_that_names_nobody() -> None:
    finding = the_bad_one(replace(well(), unresolved={"bots": "bots.okey:7: no such name"}))
    assert (finding.check, finding.where, finding.state) == ("address", "bots", State.WRONG)
    assert "bots.okey:7" in finding.text


def test_a_process_that_is_not_there() -> None:
    gone = with_seen(3, lambda s: replace(s, unreachable="Connection refused", status=None))
    finding = the_bad_one(gone)
    assert (finding.check, finding.where, finding.state) == ("address", "lobby-4", State.WRONG)
    assert finding.text == "Connection refused"


def test_a_process_that_hangs() -> None:
    finding = the_bad_one(
        with_seen(3, lambda s: replace(s, silent="DEADLINE_EXCEEDED", status=None))
    )
    assert (finding.check, finding.state) == ("health", State.WRONG)
    assert "takes connections and does not answer: DEADLINE_EXCEEDED" in finding.text


@pytest.mark.parametrize(
    ("reason", "state"), [("starting", State.WRONG), ("draining", State.WARNING)]
)
def test_a_process_that_takes_no_work_and_why(reason: str, state: State) -> None:
    blocked = with_status(2, told(blocked_by=[reason])).seen[2]
    finding = the_bad_one(with_seen(2, lambda _: replace(blocked, is_ready=False)))
    assert (finding.check, finding.where, finding.state) == ("health", "wallet-3", state)
    assert finding.text == f"takes no work: {reason}"


def test_a_process_that_is_not_alive() -> None:
    assert (
        the_bad_one(with_seen(3, lambda s: replace(s, is_live=False))).text
        == "is not alive by its own word"
    )


@pytest.mark.parametrize(
    ("code", "reason", "state", "advice"),
    [
        (grpc.StatusCode.UNAUTHENTICATED, "TOKEN_EXPIRED", State.WRONG, "clock"),
        (grpc.StatusCode.UNAUTHENTICATED, "TOKEN_INVALID", State.WRONG, "JWKS"),
        (
            grpc.StatusCode.UNAUTHENTICATED,
            "WRONG_AUDIENCE",
            State.WRONG,
            "a token for that service",
        ),
        (grpc.StatusCode.UNAUTHENTICATED, "CERTIFICATE_MISMATCH", State.WRONG, "OKEY_TLS_ROLES"),
        (grpc.StatusCode.PERMISSION_DENIED, "ROLE_REFUSED", State.WRONG, "role operator"),
        (grpc.StatusCode.UNIMPLEMENTED, "", State.WARNING, "up to date"),
        (grpc.StatusCode.INTERNAL, "INTERNAL", State.WRONG, "log"),
    ],
)
def test_a_token_that_is_not_taken(
    code: grpc.StatusCode, reason: str, state: State, advice: str
) -> None:
    finding = the_bad_one(
        with_seen(3, lambda s: replace(s, status=None, refusal=refused(code, reason)))
    )
    assert (finding.check, finding.where, finding.state) == ("token", "lobby-4", state)
    assert advice in finding.advice


def test_what_a_process_has_found_itself_is_passed_on() -> None:
    wrong = status_pb2.StatusCheck(
        name="redis", state=WRONG, text="does not answer", advice="start it"
    )
    right = status_pb2.StatusCheck(name="engine", state=OK, text="takes our token")
    finding = the_bad_one(with_status(3, told(checks=[wrong, right])))
    assert finding == Finding("redis", "lobby-4", State.WRONG, "does not answer", "start it")


def test_a_clock_that_is_wrong_is_the_one_that_differs_from_most() -> None:
    finding = the_bad_one(with_status(1, told(now_ms=NOW_MS + 40_000)))
    assert (finding.check, finding.where, finding.state) == ("clock", "engine-2", State.WRONG)
    assert finding.text == "its clock is 39995 ms ahead of the others"


def test_where_all_clocks_differ_alike_it_is_this_machines() -> None:
    late = [replace(s, asked_ms=NOW_MS - 20_000, answered_ms=NOW_MS - 19_990) for s in well().seen]
    finding = the_bad_one(replace(well(), seen=late))
    assert (finding.check, finding.where) == ("clock", "this machine")
    assert "behind the others" in finding.text


def test_versions_that_differ() -> None:
    finding = the_bad_one(with_status(0, told(version="0.9")))
    assert (finding.check, finding.state) == ("version", State.WARNING)
    assert finding.text == "0.9 at engine-1; 1.0 at engine-2, wallet-3, lobby-4"


@pytest.mark.parametrize(
    ("fact", "index", "where", "state"),
    [
        ("issuer", 3, "all", State.WRONG),
        ("audience", 3, "all", State.WRONG),
        ("keys", 3, "all", State.WARNING),
        ("database", 1, "engine", State.WRONG),
        ("schema", 1, "engine", State.WARNING),
    ],
)
def test_settings_that_should_be_the_same(fact: str, index: int, where: str, state: State) -> None:
    finding = the_bad_one(with_status(index, told(facts={fact: "other"})))
    assert (finding.check, finding.where, finding.state) == (fact, where, state)
    assert f"other at {well().seen[index].name}" in finding.text


def test_the_database_of_another_service_may_be_another() -> None:
    assert bad(with_status(2, told(facts={"database": "postgresql://db/wallet"}))) == []


def test_shards_without_an_engine() -> None:
    finding = the_bad_one(replace(well(), shards=shards("engine-1", "", "engine-2", "")))
    assert (finding.check, finding.state) == ("shards", State.WRONG)
    assert finding.text == "2 of 4 shards have no engine: 1, 3"


def test_a_member_whose_lease_has_ended() -> None:
    answer = shards("engine-1", "engine-2")
    answer.engines[1].lease_left_ms = 0
    finding = the_bad_one(replace(well(), shards=answer))
    assert (finding.check, finding.where, finding.state) == ("lease", "engine-2", State.WRONG)
    assert "1 shards" in finding.text


def test_a_member_that_takes_no_shards() -> None:
    answer = shards("engine-1", "engine-2")
    answer.engines[0].is_taking = False
    finding = the_bad_one(replace(well(), shards=answer))
    assert (finding.where, finding.state) == ("engine-1", State.WARNING)


def test_an_engine_that_is_no_member_and_a_member_that_was_not_seen() -> None:
    answer = shards("engine-1", "engine-1")
    answer.engines[1].engine = "engine-7"
    found = {finding.where: finding for finding in bad(replace(well(), shards=answer))}
    assert found.keys() == {"engine-2", "engine-7"}
    assert found["engine-2"].state is State.WRONG
    assert found["engine-7"].state is State.WARNING
    assert "10.0.0.9:7400" in found["engine-7"].text


def test_engines_that_do_not_tell_who_owns_what() -> None:
    answer = refused(grpc.StatusCode.UNAVAILABLE, "DATABASE_AWAY")
    finding = the_bad_one(replace(well(), shards=answer))
    assert "DATABASE_AWAY" in finding.text


def test_a_ledger_with_a_finding() -> None:
    kind = wallet_pb2.FINDING_KIND_NEGATIVE_BALANCE
    wrong = wallet_pb2.Finding(kind=kind, subject="player:ayse", expected=0, actual=-5)
    observed = replace(well(), ledger=wallet_pb2.VerifyLedgerResponse(findings=[wrong]))
    finding = the_bad_one(observed)
    assert finding.where == "player:ayse"
    assert finding.text == "NEGATIVE_BALANCE player:ayse: 0 expected, -5 found"


def test_a_ledger_that_could_not_be_checked_in_time() -> None:
    slow = refused(grpc.StatusCode.DEADLINE_EXCEEDED, "")
    assert the_bad_one(replace(well(), ledger=slow)).state is State.WARNING


def test_warnings_alone_are_well() -> None:
    warned = bad(with_status(0, told(version="0.9")))
    assert is_well(warned)
    assert not is_well([Finding("address", "bots", State.WRONG, "gone")])
    assert verdict(warned) == "1 checks: 0 wrong, 1 to look at."
    assert verdict([]).endswith("All is well.")


def test_a_person_sees_processes_and_what_is_wrong_with_what_to_do() -> None:
    observed = with_seen(3, lambda s: replace(s, unreachable="Connection refused", status=None))
    out = Console(width=200, record=True, file=None, quiet=True)
    with out.capture() as capture:
        out.quiet = False
        show(observed, judge(observed), out, is_whole=False)
    shown = capture.get()
    assert "engine-1" in shown
    assert "unreachable" in shown
    assert "WRONG   address, lobby-4: Connection refused" in shown
    assert "do: see whether it runs" in shown
    assert "OK " not in shown


def test_a_machine_gets_everything() -> None:
    observed = with_status(1, told(now_ms=NOW_MS + 40_000))
    document = json.loads(as_json(observed, judge(observed)))
    assert document["is_well"] is False
    assert document["processes"][0]["name"] == "engine-1"
    (wrong,) = [each for each in document["findings"] if each["state"] == "wrong"]
    assert wrong["check"] == "clock"
    assert wrong["advice"]


async def test_every_process_behind_a_target_is_looked_at() -> None:
    assert await resolve("ipv4:10.0.0.1:7,10.0.0.2:7") == ["10.0.0.1:7", "10.0.0.2:7"]
    assert await resolve("dns:///127.0.0.1:7402") == ["127.0.0.1:7402"]
    with pytest.raises(OSError, match=r"not known|resolution"):
        await resolve("no-such-host.invalid:7402")

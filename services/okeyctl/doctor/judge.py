"""What is wrong with what was seen, with which value, and what to do about it; pure."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from statistics import median_low
from typing import Final

import grpc

from okey.api.common.v1 import status_pb2
from okey.api.engine.v1 import engine_pb2
from okey.api.wallet.v1 import wallet_pb2
from okey_runtime.errors import RpcFailure
from okey_runtime.skew import judge_skew, skew_ms, tell_skew
from services.okeyctl.doctor.observe import Observed, Seen

_SHARDS_NAMED: Final = 12


class State(StrEnum):
    """How something is."""

    OK = "ok"
    WARNING = "warning"
    WRONG = "wrong"


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at: which check, where, how it is, what was found, what to do."""

    check: str
    where: str
    state: State
    text: str
    advice: str = ""


_STATES: Final = {
    status_pb2.CHECK_STATE_OK: State.OK,
    status_pb2.CHECK_STATE_WARNING: State.WARNING,
}

_SEE_IT_RUNS: Final = "see whether it runs, and whether the address is right"


def judge(observed: Observed) -> list[Finding]:
    """Everything, in the order in which a person would look."""
    return [
        *_addresses(observed),
        *_health(observed.seen),
        *_tokens(observed.seen),
        *_own_checks(observed.seen),
        *_clocks(observed.seen),
        *_versions(observed.seen),
        *_facts(observed.seen),
        *_shards(observed),
        *_ledger(observed.ledger),
    ]


def _addresses(observed: Observed) -> Iterator[Finding]:
    for kind, why in observed.unresolved.items():
        yield Finding("address", kind, State.WRONG, why, "see the name and the resolver")
    for seen in observed.seen:
        if seen.unreachable:
            yield Finding("address", seen.name, State.WRONG, seen.unreachable, _SEE_IT_RUNS)
        else:
            yield Finding("address", seen.name, State.OK, f"{seen.address} takes connections")


def _health(seen: Iterable[Seen]) -> Iterator[Finding]:
    for each in seen:
        if each.unreachable:
            continue
        if each.silent:
            text = f"takes connections and does not answer: {each.silent}"
            advice = "its process may be stopped or overloaded: look at it, or restart it"
            yield Finding("health", each.name, State.WRONG, text, advice)
        elif not each.is_live:
            text, advice = "is not alive by its own word", "restart it"
            yield Finding("health", each.name, State.WRONG, text, advice)
        elif not each.is_ready:
            blocked = each.status.blocked_by if each.status is not None else ()
            leaves = {"draining", "leaving", "stopping"} & set(blocked)
            text = f"takes no work: {', '.join(blocked) or 'it does not say why'}"
            advice = "it ends by itself" if leaves else "see its log"
            state = State.WARNING if leaves else State.WRONG
            yield Finding("health", each.name, state, text, advice)
        else:
            yield Finding("health", each.name, State.OK, "alive and ready")


def _tokens(seen: Iterable[Seen]) -> Iterator[Finding]:
    for each in seen:
        if each.status is not None:
            yield Finding("token", each.name, State.OK, "takes this token")
        if each.refusal is None:
            continue
        match each.refusal.code, each.refusal.reason:
            case grpc.StatusCode.UNAUTHENTICATED, "TOKEN_EXPIRED":
                advice = "get a new token; if it is new, this machine's clock or its own is wrong"
            case grpc.StatusCode.UNAUTHENTICATED, "WRONG_AUDIENCE":
                advice = "use a token for that service; a folder may hold one for each"
            case grpc.StatusCode.UNAUTHENTICATED, "CERTIFICATE_MISMATCH":
                advice = "connect with the certificate that OKEY_TLS_ROLES there gives that role"
            case grpc.StatusCode.UNAUTHENTICATED, _:
                advice = "see its JWKS file, issuer and audience, and who has made this token"
            case grpc.StatusCode.PERMISSION_DENIED, _:
                advice = "use a token with the role operator"
            case grpc.StatusCode.UNIMPLEMENTED, _:
                text = "an older version, which tells nothing of itself"
                yield Finding("token", each.name, State.WARNING, text, "bring it up to date")
                continue
            case _:
                advice = "see its log"
        text = f"does not tell its state: {each.refusal}"
        yield Finding("token", each.name, State.WRONG, text, advice)


def _own_checks(seen: Iterable[Seen]) -> Iterator[Finding]:
    """What each process has found itself."""
    for each in seen:
        for check in each.status.checks if each.status is not None else ():
            state = _STATES.get(check.state, State.WRONG)
            yield Finding(check.name, each.name, state, check.text, check.advice)


def _clocks(seen: Sequence[Seen]) -> Iterator[Finding]:
    """Each against most of them: where all others are as wrong, it is this machine's."""
    ahead = {
        each.name: skew_ms(each.status.now_ms, each.asked_ms, each.answered_ms)
        for each in seen
        if each.status is not None
    }
    if not ahead:
        return
    usual_ms = median_low(ahead.values())
    for where, ahead_ms in (("this machine", 0), *ahead.items()):
        apart_ms = ahead_ms - usual_ms
        judged, advice = judge_skew(apart_ms)
        state = _STATES.get(judged, State.WRONG)
        text = f"its clock {tell_skew(apart_ms)} the others"
        yield Finding("clock", where, state, text, advice)


def _versions(seen: Iterable[Seen]) -> Iterator[Finding]:
    by_version: dict[str, list[str]] = {}
    for each in seen:
        if each.status is not None:
            by_version.setdefault(each.status.version, []).append(each.name)
    if len(by_version) == 1:
        (version,) = by_version
        yield Finding("version", "all", State.OK, f"all run {version}")
    elif by_version:
        advice = "let the roll-out end, or restart what was left behind"
        yield Finding("version", "all", State.WARNING, _told(by_version), advice)


_SHARED: Final = {
    "issuer": (State.WRONG, "set OKEY_TOKEN_ISSUER alike everywhere"),
    "audience": (State.WRONG, "set OKEY_TOKEN_AUDIENCE alike everywhere"),
    "keys": (State.WARNING, "give all of them the same JWKS file; a new one may be on its way"),
}
"""What all services must have alike; everything else only the processes of one service."""

_ALIKE: Final = {
    "database": (State.WRONG, "set OKEY_DATABASE_URL alike for all of them"),
    "schema": (State.WARNING, "let the roll-out end, or restart what was left behind"),
}


def _facts(seen: Sequence[Seen]) -> Iterator[Finding]:
    for fact, judged in _SHARED.items():
        yield from _same(fact, "all", seen, judged)
    for kind in dict.fromkeys(each.kind for each in seen):
        for fact, judged in _ALIKE.items():
            yield from _same(fact, kind, [each for each in seen if each.kind == kind], judged)


def _same(
    fact: str, where: str, seen: Iterable[Seen], judged: tuple[State, str]
) -> Iterator[Finding]:
    by_value: dict[str, list[str]] = {}
    for each in seen:
        if each.status is not None and fact in each.status.facts:
            by_value.setdefault(each.status.facts[fact], []).append(each.name)
    if len(by_value) == 1:
        (value,) = by_value
        yield Finding(fact, where, State.OK, f"{value} everywhere")
    elif by_value:
        state, advice = judged
        yield Finding(fact, where, state, _told(by_value), advice)


def _told(by_value: dict[str, list[str]]) -> str:
    return "; ".join(f"{value} at {', '.join(names)}" for value, names in sorted(by_value.items()))


def _shards(observed: Observed) -> Iterator[Finding]:
    """Every engine is a member with a lease, and every shard has one."""
    answer = observed.shards
    if answer is None:
        return
    if isinstance(answer, RpcFailure):
        text = f"nobody tells who owns the tables: {answer}"
        yield Finding("shards", "engine", State.WRONG, text, "see the engines' logs")
        return
    orphans = [str(place.shard) for place in answer.shards if not place.engine]
    if orphans:
        named = ", ".join(orphans[:_SHARDS_NAMED]) + (" ..." if orphans[_SHARDS_NAMED:] else "")
        text = f"{len(orphans)} of {len(answer.shards)} shards have no engine: {named}"
        advice = "wait for a lease's time; then see why no engine takes them, in the engines' logs"
        yield Finding("shards", "engine", State.WRONG, text, advice)
    else:
        text = f"{len(answer.shards)} shards, all owned; {_shares(answer.engines)}"
        yield Finding("shards", "engine", State.OK, text)
    for member in answer.engines:
        yield _member(member)
    yield from _strangers(observed.seen, answer.engines)


def _shares(engines: Iterable[engine_pb2.EngineMember]) -> str:
    return ", ".join(f"{each.engine} {each.shards}" for each in engines)


def _member(member: engine_pb2.EngineMember) -> Finding:
    held = f"{member.shards} shards, {member.tables} tables"
    if not member.lease_left_ms:
        text = f"its lease has ended; it is named as the owner of {held}"
        advice = "see whether it runs and reaches its database; others take its tables over"
        return Finding("lease", member.engine, State.WRONG, text, advice)
    text = f"lease for another {member.lease_left_ms} ms, {held}"
    if not member.is_taking:
        text, advice = f"takes no shards: it starts or leaves; {held}", "it ends by itself"
        return Finding("lease", member.engine, State.WARNING, text, advice)
    return Finding("lease", member.engine, State.OK, text)


def _strangers(
    seen: Iterable[Seen], engines: Iterable[engine_pb2.EngineMember]
) -> Iterator[Finding]:
    """Engines that run and are no members, and members that are not behind the address."""
    members = {each.engine for each in engines}
    running = {
        each.status.name: each for each in seen if each.kind == "engine" and each.status is not None
    }
    for name in running.keys() - members:
        text = f"{running[name].address} runs and is no member, so it has no tables"
        yield Finding("lease", name, State.WRONG, text, "see its log, and which database it uses")
    for member in engines:
        if member.engine not in running and member.lease_left_ms:
            text = f"is a member at {member.address}, and was not seen at the addresses given"
            advice = "see whether callers can find it there"
            yield Finding("lease", member.engine, State.WARNING, text, advice)


def _ledger(
    answer: wallet_pb2.VerifyLedgerResponse | RpcFailure | None,
) -> Iterator[Finding]:
    if answer is None:
        return
    if isinstance(answer, RpcFailure):
        text = f"could not be checked: {answer}"
        advice = "see the wallet's log; okeyctl audit takes longer and has no deadline"
        yield Finding("ledger", "wallet", State.WARNING, text, advice)
        return
    size = f"{answer.journal_count} journals, {answer.posting_count} postings"
    if not answer.findings:
        yield Finding("ledger", "wallet", State.OK, f"{size}, every chip accounted for")
    for each in answer.findings:
        kind = wallet_pb2.FindingKind.Name(each.kind).removeprefix("FINDING_KIND_")
        text = f"{kind} {each.subject}: {each.expected} expected, {each.actual} found"
        advice = "see docs/runbooks/audit-finding.md"
        yield Finding("ledger", each.subject, State.WRONG, text, advice)

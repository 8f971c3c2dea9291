"""Grants and take-backs above the limit of one operator, on both databases."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import Any, cast

import pytest
from sqlalchemy import func, select
from structlog.testing import capture_logs

from okey.api.wallet.v1 import wallet_pb2
from okey.errors import OkeyError
from okey.money.forfeit import ForfeitCause
from okey_runtime import failpoints
from okey_runtime.clock import VirtualClock
from okey_runtime.config import Environment
from okey_runtime.database import DatabaseAway
from okey_runtime.identity import Identity, Role, set_current_identity
from services.wallet.approvals import (
    Approval,
    ApprovalAltered,
    ApprovalDecided,
    ApprovalExpired,
    ApprovalNeeded,
    ApprovalRejected,
    ApprovalUnknown,
    Decision,
    SecondOperatorNeeded,
    State,
)
from services.wallet.approvals_audit import CHANGE_MS, keep_limit
from services.wallet.auditing import Auditor
from services.wallet.command import GrantChips, ReverseJournal
from services.wallet.decline import (
    AccountClosed,
    AccountFrozen,
    JournalReversed,
    TransferIdReused,
)
from services.wallet.erasure import Erase
from services.wallet.finding import FindingKind
from services.wallet.operations import Operations
from services.wallet.receipt import Receipt
from services.wallet.schema import approvals, journals
from services.wallet.servicer import WalletServicer
from services.wallet.wallet import OperatorTokenNeeded, Wallet
from tests.contract.wallet_house import HOUSE, outcome_of
from tests.contract.wallet_play import WELCOME, Play, freeze
from tests.fixtures.ledger import LedgerDatabase, refused

LIMIT = 1_000
EXPIRES_MS = 60_000
DAY_MS = 86_400_000
LIMITED = replace(HOUSE, approval_limit_chips=LIMIT, approval_expires_ms=EXPIRES_MS)


class Office:
    """A wallet with a limit, and operators."""

    def __init__(self, database: LedgerDatabase) -> None:
        self.clock = VirtualClock(DAY_MS * 20_000)
        self.database = database
        self.wallet = Wallet(database, LIMITED, self.clock)
        self.play = Play(self.wallet)
        auditor = Auditor(database, self.clock, None, None)
        self.operations = Operations(database, LIMITED, self.clock, auditor, None)

    async def grant(
        self, chips: int, key: str, *, by: str = "ada", to: str = "A", reason: str = "a prize"
    ) -> Receipt:
        asked = GrantChips(player_id=to, amount=chips, actor=by, reason=reason)
        return await self.wallet.execute(key, asked)

    async def reverse(self, journal_id: int | None, key: str, *, by: str = "ada") -> Receipt:
        assert journal_id is not None
        asked = ReverseJournal(journal_id=journal_id, actor=by, reason="a mistake")
        return await self.wallet.execute(key, asked)

    async def request(self, chips: int, key: str, *, by: str = "ada") -> int:
        """The number of a request that waits."""
        return await needed(self.grant(chips, key, by=by))

    async def approve(self, approval_no: int, by: str = "bob") -> Receipt:
        _, receipt = await self.operations.approve(Decision(approval_no, by, "checked"))
        return receipt

    async def reject(self, approval_no: int, by: str = "bob") -> Approval:
        return await self.operations.reject(Decision(approval_no, by, "not known here"))

    async def waiting(self) -> Sequence[Approval]:
        return (await self.operations.approvals(None, 100, waiting_only=True)).approvals

    async def found(self, approval_no: int) -> Approval:
        page = await self.operations.approvals(approval_no + 1, 1, waiting_only=False)
        return page.approvals[0]

    async def grants(self) -> int:
        """How many grants are booked."""
        counted = select(func.count()).where(journals.c.kind == "grant")
        return await self.database.read(lambda c: c.execute(counted).scalar_one())

    async def limit(self, chips: int | None) -> None:
        """Put a limit in force, as a wallet does at its start."""
        now_ms = self.clock.now_ms()
        await self.database.transact(lambda c: keep_limit(c, chips, now_ms))

    async def findings(self) -> list[tuple[FindingKind, str]]:
        return [(each.kind, each.subject) for each in (await self.wallet.audit()).findings]

    def later(self, ms: int) -> None:
        self.clock.advance_ms(ms)


class Crash(DatabaseAway):
    """The process ends here; what it has not committed is lost."""


@contextmanager
def crashing(place: str) -> Iterator[None]:
    """Crash at the first pass of a failpoint."""

    def strike(passed: str, _: object) -> None:
        if passed == place:
            raise Crash(f"killed at {place}")

    with failpoints.armed(Environment.TEST, strike):
        yield


@pytest.fixture
def office(database: LedgerDatabase) -> Office:
    return Office(database)


async def needed(work: Awaitable[object]) -> int:
    with pytest.raises(ApprovalNeeded) as raised:
        await work
    return raised.value.approval_no


async def test_up_to_the_limit_one_operator_grants_alone(office: Office) -> None:
    """M3."""
    await office.grant(LIMIT, "k1")
    assert await office.play.purse("A") == WELCOME + LIMIT
    assert await office.waiting() == []


async def test_above_the_limit_nothing_is_booked_and_a_request_waits(office: Office) -> None:
    """M3: nor is the account opened, with its welcome grant."""
    number = await office.request(LIMIT + 1, "k1")
    [waits] = await office.waiting()
    assert (waits.approval_no, waits.key, waits.account) == (number, "k1", "player:A")
    assert (waits.chips, waits.requester, waits.reason) == (LIMIT + 1, "ada", "a prize")
    assert waits.expires_ms == office.clock.now_ms() + EXPIRES_MS
    assert await office.database.read(lambda c: c.execute(select(journals)).all()) == []


async def test_a_second_operator_books_it_and_the_same_key_gets_the_receipt(
    office: Office,
) -> None:
    """M5: once, whatever is asked again."""
    number = await office.request(LIMIT + 1, "k1")
    assert await office.request(LIMIT + 1, "k1") == number
    receipt = await office.approve(number)
    assert await office.approve(number) == receipt
    assert await office.grant(LIMIT + 1, "k1") == receipt
    found = await office.found(number)
    assert (found.state, found.decided_by, found.decision_reason, found.journal_id) == (
        State.APPROVED, "bob", "checked", receipt.journal_id,
    )  # fmt: skip
    assert await office.play.purse("A") == WELCOME + LIMIT + 1
    assert await office.grants() == 1


def calls_as(operator: str, *, has_token: bool) -> None:
    """The caller of the calls that follow in this test."""
    roles = frozenset({Role.OPERATOR})
    set_current_identity(Identity(operator, roles, "", 1, has_token=has_token))


async def test_a_certificate_alone_requests_nothing_above_the_limit(office: Office) -> None:
    """M3: several people may have it, so one could request by it and approve by a token."""
    servicer, context = WalletServicer(office.wallet, office.operations), cast("Any", None)
    calls_as("ops.okey", has_token=False)
    grant = wallet_pb2.GrantChipsRequest(
        idempotency_key="k1", player_id="A", amount=LIMIT, reason="a prize"
    )
    booked = (await servicer.GrantChips(grant, context)).receipt
    reverse = wallet_pb2.ReverseJournalRequest(
        idempotency_key="k2", journal_id=booked.journal_id, reason="a mistake"
    )
    with pytest.raises(OperatorTokenNeeded):
        await servicer.ReverseJournal(reverse, context)
    grant.idempotency_key, grant.amount = "k3", LIMIT + 1
    with pytest.raises(OperatorTokenNeeded, match=r"ops\.okey.*your own token"):
        await servicer.GrantChips(grant, context)
    assert await office.waiting() == []
    calls_as("ada", has_token=True)
    await needed(servicer.GrantChips(grant, context))


async def test_a_certificate_alone_approves_nothing(office: Office) -> None:
    """M3: the requester may have it too."""
    number = await office.request(LIMIT + 1, "k1")
    servicer, context = WalletServicer(office.wallet, office.operations), cast("Any", None)
    asked = wallet_pb2.ApproveOperationRequest(approval_id=number, reason="checked")
    calls_as("ops.okey", has_token=False)
    with pytest.raises(OperatorTokenNeeded):
        await servicer.ApproveOperation(asked, context)
    assert (await office.found(number)).state is State.REQUESTED
    calls_as("bob", has_token=True)
    await servicer.ApproveOperation(asked, context)
    assert (await office.found(number)).state is State.APPROVED


async def test_both_operators_stand_in_the_trail_and_in_the_ledger(office: Office) -> None:
    """M3: who asked, who approved, what was moved."""
    with capture_logs() as lines:
        number = await office.request(LIMIT + 1, "k1")
        await office.approve(number)
        await office.reject(await office.request(LIMIT + 2, "k2"), by="eve")
    told = [(line["event"], line["requester"], line["operator"], line["chips"]) for line in lines]
    assert told == [
        ("approval_requested", "ada", "ada", LIMIT + 1),
        ("operation_approved", "ada", "bob", LIMIT + 1),
        ("approval_requested", "ada", "ada", LIMIT + 2),
        ("operation_rejected", "ada", "eve", LIMIT + 2),
    ]
    booked = select(journals.c.actor, approvals.c.decided_by).join_from(
        journals, approvals, approvals.c.journal_id == journals.c.journal_id
    )
    assert await office.database.read(lambda c: c.execute(booked).all()) == [("ada", "bob")]


async def test_many_small_grants_count_together(office: Office) -> None:
    """M3: a hundred times the limit less one would be the same as no limit."""
    await office.grant(LIMIT - 1, "k1")
    await needed(office.grant(2, "k2"))
    await office.grant(1, "k3")
    await needed(office.grant(1, "k4"))
    await office.grant(LIMIT, "of-another", to="B")
    await office.grant(LIMIT, "by-another", by="eve")
    assert await office.play.purse("A") == WELCOME + 2 * LIMIT


async def test_what_was_moved_a_day_ago_counts_no_more(office: Office) -> None:
    """M3."""
    await office.grant(LIMIT, "k1")
    office.later(DAY_MS - 1)
    await needed(office.grant(1, "k2"))
    office.later(1)
    await office.grant(LIMIT, "k3")


async def test_what_was_approved_does_not_count(office: Office) -> None:
    """M3: two have looked at it."""
    await office.approve(await office.request(LIMIT + 1, "k1"))
    await office.grant(LIMIT, "k2")


async def test_grants_and_take_backs_count_together(office: Office) -> None:
    """M3."""
    journal = (await office.grant(600, "k1")).journal_id
    number = await needed(office.reverse(journal, "k2"))
    found = await office.found(number)
    assert (found.chips, found.reverses, found.kind) == (-600, journal, "reversal")
    await office.approve(number)
    assert await office.play.purse("A") == WELCOME
    with pytest.raises(JournalReversed):
        await office.reverse(journal, "k3", by="eve")


async def test_a_key_that_waits_is_never_booked_alone(office: Office) -> None:
    """M3: not even when the limit would allow it by then."""
    await office.grant(LIMIT, "k1")
    number = await office.request(1, "k2")
    office.later(EXPIRES_MS - 1)
    assert await office.request(1, "k2") == number
    office.later(DAY_MS)
    for _ in range(2):
        with pytest.raises(ApprovalExpired):
            await office.grant(1, "k2")
    await office.grant(1, "k3")


async def test_a_waiting_key_with_other_content_is_refused(office: Office) -> None:
    """M5: other chips, another reason, another operator."""
    number = await office.request(LIMIT + 1, "k1")
    for other, differs in (
        (office.grant(LIMIT + 2, "k1"), "amount"),
        (office.grant(1, "k1"), "amount"),
        (office.grant(LIMIT + 1, "k1", reason="another"), "reason"),
        (office.grant(LIMIT + 1, "k1", by="eve"), "actor"),
        (office.reverse(1, "k1"), "the call"),
    ):
        with pytest.raises(TransferIdReused, match=f"approval {number}, .* differs in {differs}"):
            await other
    await office.approve(number)
    with pytest.raises(TransferIdReused):
        await office.grant(LIMIT + 2, "k1")
    assert await office.grants() == 1


async def test_nobody_approves_its_own_request(office: Office) -> None:
    """M3."""
    number = await office.request(LIMIT + 1, "k1")
    with pytest.raises(SecondOperatorNeeded):
        await office.approve(number, by="ada")
    assert (await office.found(number)).state is State.REQUESTED
    await office.approve(number)
    with pytest.raises(SecondOperatorNeeded):
        await office.approve(number, by="ada")


async def test_a_rejected_request_is_never_booked(office: Office) -> None:
    """M3: its key is used up."""
    number = await office.request(LIMIT + 1, "k1")
    rejected = await office.reject(number)
    assert await office.reject(number) == rejected
    with pytest.raises(ApprovalDecided, match="rejected by bob: not known here"):
        await office.approve(number, by="eve")
    with pytest.raises(ApprovalRejected, match="rejected by bob"):
        await office.grant(LIMIT + 1, "k1")
    assert await office.grants() == 0


async def test_the_requester_may_withdraw(office: Office) -> None:
    """M3."""
    number = await office.request(LIMIT + 1, "k1")
    assert (await office.reject(number, by="ada")).state is State.REJECTED


async def test_after_its_time_a_request_is_refused(office: Office) -> None:
    """M3: for approval and rejection alike, and for good."""
    number = await office.request(LIMIT + 1, "k1")
    office.later(EXPIRES_MS)
    assert await office.waiting() == []
    for work in (office.approve(number), office.reject(number), office.grant(LIMIT + 1, "k1")):
        with pytest.raises(ApprovalExpired):
            await work
    stored = await office.database.read(lambda c: c.execute(select(approvals.c.state)).scalar_one())
    assert stored == State.EXPIRED
    assert await office.grants() == 0


async def test_an_approved_request_is_rejected_no_more(office: Office) -> None:
    """M3."""
    number = await office.request(LIMIT + 1, "k1")
    await office.approve(number)
    with pytest.raises(ApprovalDecided, match="approved by bob"):
        await office.reject(number)


async def test_an_unknown_request_is_said(office: Office) -> None:
    """M3."""
    for work in (office.approve(7), office.reject(7)):
        with pytest.raises(ApprovalUnknown, match="no request 7"):
            await work


async def test_what_cannot_be_booked_becomes_no_request(office: Office) -> None:
    """M3: who asks is told at once."""
    await office.operations.erase(
        Erase(player_id="A", actor="op", reason="asked for", allow_unknown=True), check_only=False
    )
    with pytest.raises(AccountClosed):
        await office.grant(LIMIT + 1, "k1")
    assert await office.waiting() == []


async def test_a_decline_leaves_the_request_waiting(
    office: Office, database: LedgerDatabase
) -> None:
    """M3: such as an account that was frozen, or spent, meanwhile."""
    journal = await office.approve(await office.request(LIMIT + 1, "k1"))
    number = await needed(office.reverse(journal.journal_id, "k2"))
    await freeze(database, "A")
    with pytest.raises(AccountFrozen):
        await office.approve(number)
    assert (await office.found(number)).state is State.REQUESTED


async def test_a_players_own_money_events_need_nobody(office: Office) -> None:
    """M1, M9: only operators' grants and take-backs have a limit."""
    play = Play(office.wallet, stake=5_000)
    await play.seat_and_start("AB")
    await play.forfeit(0, ForfeitCause.GAVE_UP)
    assert await office.waiting() == []


async def test_pages_of_requests_are_newest_first(office: Office) -> None:
    """M3."""
    numbers = [await office.request(LIMIT + 1, f"k{each}") for each in range(3)]
    await office.reject(numbers[1])
    page = await office.operations.approvals(None, 1, waiting_only=True)
    assert [each.approval_no for each in page.approvals] == [numbers[2]]
    rest = await office.operations.approvals(page.next_before, 2, waiting_only=True)
    assert ([each.approval_no for each in rest.approvals], rest.next_before) == ([numbers[0]], None)


@pytest.mark.parametrize("rival", ["approve", "reject", "ask", "requester"])
async def test_at_the_same_moment_one_of_two_decides(office: Office, rival: str) -> None:
    """M5: whoever comes first."""
    for each in range(6):
        key, before = f"k{each}", await office.grants()
        number = await office.request(LIMIT + 1, key)
        works: dict[str, Callable[[], Awaitable[object]]] = {
            "approve": partial(office.approve, number, "eve"),
            "reject": partial(office.reject, number, "eve"),
            "ask": partial(office.grant, LIMIT + 1, key),
            "requester": partial(office.approve, number, "ada"),
        }
        one, other = await asyncio.gather(
            reason_of(office.approve(number)), reason_of(works[rival]())
        )
        booked = await office.grants() - before
        match rival:
            case "approve":
                assert {one, other} == {"OK", "APPROVAL_DECIDED"}
                assert booked == 1
            case "reject":
                assert {one, other} == {"OK", "APPROVAL_DECIDED"}
                assert booked == (one == "OK")
            case "ask":
                assert (one, other) in (("OK", "OK"), ("OK", "APPROVAL_NEEDED"))
                assert booked == 1
            case _:
                assert (one, other, booked) == ("OK", "SECOND_OPERATOR_NEEDED", 1)
    assert await office.findings() == []


async def reason_of(work: Awaitable[object]) -> str:
    try:
        await work
    except OkeyError as error:
        return error.reason
    return "OK"


async def test_grants_at_once_do_not_pass_the_limit(office: Office) -> None:
    """M3: each counts what the others have booked."""
    await office.play.purse("A")
    works = (outcome_of(office.grant(LIMIT // 10, f"k{each}")) for each in range(16))
    outcomes = await asyncio.gather(*works)
    assert sorted(outcomes) == ["APPROVAL_NEEDED"] * 6 + ["OK"] * 10
    assert await office.play.purse("A") == WELCOME + LIMIT
    assert await office.findings() == []


async def test_the_same_key_at_once_becomes_one_request(office: Office) -> None:
    """M5."""
    works = (needed(office.grant(LIMIT + 1, "k1")) for _ in range(10))
    assert len(set(await asyncio.gather(*works))) == 1


@pytest.mark.parametrize(
    "place",
    [
        "wallet.begun", "wallet.key_checked", "wallet.journal_inserted", "wallet.requesting",
        "wallet.before_commit",
    ],
)  # fmt: skip
async def test_a_crash_before_the_request_is_kept_leaves_nothing(
    office: Office, place: str
) -> None:
    """M5: the same is asked again, and waits then."""
    with crashing(place), pytest.raises(Crash):
        await office.grant(LIMIT + 1, "k1")
    assert await office.waiting() == []
    await office.request(LIMIT + 1, "k1")
    assert len(await office.waiting()) == 1


@pytest.mark.parametrize(
    "place", ["wallet.journal_inserted", "wallet.approval_booked", "wallet.before_commit"]
)
async def test_a_crash_before_the_approval_is_committed_leaves_the_request(
    office: Office, place: str
) -> None:
    """M5: it is approved again."""
    number = await office.request(LIMIT + 1, "k1")
    with crashing(place), pytest.raises(Crash):
        await office.approve(number)
    assert (await office.found(number)).state is State.REQUESTED
    assert await office.grants() == 0
    await office.approve(number)
    assert await office.grants() == 1


async def test_a_crash_after_the_approval_is_committed_books_it_once(office: Office) -> None:
    """M5: the same operator asks again and gets the receipt."""
    number = await office.request(LIMIT + 1, "k1")
    with crashing("wallet.committed"), pytest.raises(Crash):
        await office.approve(number)
    receipt = await office.approve(number)
    assert await office.grant(LIMIT + 1, "k1") == receipt
    assert await office.grants() == 1


BOOKED_BY_HAND = (
    "INSERT INTO journals (kind, rules_version, booked_ms, actor, reason, legs) VALUES "
    "('grant', 'v', {ms}, 'ada', 'by hand', "
    '\'{{"player:A": {chips}, "system:issuance": -{chips}}}\')'
)


async def test_the_audit_finds_what_was_booked_above_the_limit(office: Office) -> None:
    """M3: also in parts; what two have approved is right."""
    await office.limit(LIMIT)
    office.later(CHANGE_MS)
    await office.approve(await office.request(LIMIT + 1, "k1"))
    await office.grant(LIMIT, "k2")
    assert await office.findings() == []
    unlimited = Wallet(office.database, HOUSE, office.clock)
    asked = GrantChips(player_id="A", amount=1, actor="ada", reason="past the limit")
    journal = (await unlimited.execute("k3", asked)).journal_id
    assert await office.findings() == [(FindingKind.JOURNAL_NOT_APPROVED, f"journal:{journal}")]


async def test_the_audit_judges_a_journal_by_the_limit_of_its_time(office: Office) -> None:
    """M3: neither by a later one, nor by one that was not yet in force everywhere."""
    unlimited = Wallet(office.database, HOUSE, office.clock)

    async def grant(player: str) -> None:
        asked = GrantChips(player_id=player, amount=LIMIT + 1, actor="ada", reason="a prize")
        await unlimited.execute(f"of-{player}", asked)

    await grant("A")
    await office.limit(LIMIT)
    await office.limit(LIMIT)
    await grant("B")
    office.later(CHANGE_MS)
    await office.limit(2 * LIMIT)
    await grant("C")
    office.later(1)
    await office.limit(LIMIT)
    office.later(CHANGE_MS - 1)
    await grant("D")
    assert await office.findings() == []
    office.later(1)
    await grant("E")
    [(kind, _)] = await office.findings()
    assert kind is FindingKind.JOURNAL_NOT_APPROVED


async def test_the_audit_finds_an_operators_journal_that_nobody_asked_for(office: Office) -> None:
    """M3: booked in the database, past the wallet."""
    await office.play.purse("A")
    await office.database.run(BOOKED_BY_HAND.format(ms=office.clock.now_ms(), chips=5))
    [(kind, subject)] = await office.findings()
    assert (kind, subject) == (FindingKind.JOURNAL_WITHOUT_EVENT, "journal:2")


@pytest.mark.parametrize(
    "tampering",
    [
        "UPDATE approvals SET decided_by = 'ada'",
        "UPDATE approvals SET decided_by = NULL",
        "UPDATE approvals SET chips = 5",
        "UPDATE approvals SET reason = 'another'",
        "UPDATE approvals SET state = 'rejected'",
        "DELETE FROM approvals",
    ],
)
async def test_the_audit_finds_an_altered_approval(office: Office, tampering: str) -> None:
    """M3: past all seals."""
    await office.limit(LIMIT)
    office.later(CHANGE_MS)
    await office.approve(await office.request(LIMIT + 1, "k1"))
    await office.database.tamper(tampering)
    assert {kind for kind, _ in await office.findings()} == {FindingKind.JOURNAL_NOT_APPROVED}


async def test_an_altered_request_is_not_booked(office: Office) -> None:
    """M3: what the second operator sees is what the first one asked for."""
    number = await office.request(LIMIT + 1, "k1")
    await office.database.tamper("UPDATE approvals SET chips = 5, account = 'player:B'")
    with pytest.raises(ApprovalAltered):
        await office.approve(number)
    assert await office.grants() == 0


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE approvals SET chips = 5 WHERE idempotency_key = 'waits'",
        "UPDATE approvals SET requester = 'eve' WHERE idempotency_key = 'waits'",
        "UPDATE approvals SET expires_ms = expires_ms + 1 WHERE idempotency_key = 'waits'",
        "UPDATE approvals SET state = 'approved', decided_by = 'ada', decided_ms = requested_ms, "
        "journal_id = 2 WHERE idempotency_key = 'waits'",
        "UPDATE approvals SET state = 'approved', decided_by = 'bob', decided_ms = requested_ms, "
        "journal_id = 2 WHERE idempotency_key = 'waits'",
        "UPDATE approvals SET state = 'approved', decided_by = 'bob', decided_ms = requested_ms "
        "WHERE idempotency_key = 'waits'",
        "UPDATE approvals SET state = 'rejected', journal_id = NULL WHERE idempotency_key = 'done'",
        "UPDATE approvals SET decided_by = 'eve' WHERE idempotency_key = 'done'",
        "UPDATE approvals SET state = 'requested' WHERE idempotency_key = 'done'",
        "DELETE FROM approvals",
        "DELETE FROM approval_limits",
        "UPDATE approval_limits SET chips = 5",
        "INSERT INTO requests (idempotency_key, request_hash, answered_ms, pot, kasa, penalty, "
        "shortfall, journal_id) VALUES ('waits', 'h', 1, 0, 0, 0, 0, 1)",
        "INSERT INTO approvals (idempotency_key, request_hash, kind, account, chips, requester, "
        "reason, requested_ms, expires_ms, state) VALUES "
        "('new', 'h', 'grant', 'player:A', 5, 'ada', 'r', 1, 2, 'approved')",
        "INSERT INTO approvals (idempotency_key, request_hash, kind, account, chips, requester, "
        "reason, requested_ms, expires_ms, state) VALUES "
        "('booked', 'h', 'grant', 'player:A', 5, 'ada', 'r', 1, 2, 'requested')",
    ],
)
async def test_the_database_itself_keeps_approvals(office: Office, statement: str) -> None:
    """M3, M5: also from plain SQL."""
    await office.limit(LIMIT)
    await office.grant(5, "booked")
    await office.approve(await office.request(LIMIT + 1, "done"))
    await office.request(LIMIT + 1, "waits")
    with refused(
        r"approvals_are_decided_once|approvals_need_two|requests_wait_for_approval|"
        r"only added to|permission denied"
    ):
        await office.database.run(statement)

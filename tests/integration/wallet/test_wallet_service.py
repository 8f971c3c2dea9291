"""WalletService as its callers meet it: over gRPC, with tokens, on a fresh database."""

from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import grpc
import pytest
from pydantic import SecretStr

from okey.api.common.v1 import common_pb2
from okey.api.wallet.v1 import wallet_pb2, wallet_pb2_grpc
from okey.money.journal import JournalKind
from okey_runtime.channel import open_channel
from okey_runtime.clock import VirtualClock
from okey_runtime.config import Environment
from okey_runtime.errors import from_rpc_error
from okey_runtime.identity import Role
from okey_runtime.server import ServiceServer
from services.wallet.app import DatabaseUrlMissing, WalletApp, WalletSettings
from services.wallet.audit import FindingKind
from services.wallet.decline import DECLINES
from services.wallet.servicer import ACCESS
from tests.fixtures.issuer import Issuer

TABLE = "a" * 26
MATCH = f"{TABLE}-1"
VERSION = "2026.11"

Outcome = wallet_pb2.MatchOutcome
Stub = wallet_pb2_grpc.WalletServiceStub
StubOf = Callable[..., Stub]


def settings_of(tmp_path: Path, issuer: Issuer) -> WalletSettings:
    """A wallet on a file of its own."""
    return WalletSettings(
        environment=Environment.TEST,
        database_url=SecretStr(f"sqlite:///{tmp_path / 'wallet.db'}"),
        jwks_file=issuer.jwks_file,
        stop_grace_ms=0,
        welcome_chips=1_000,
    )


@pytest.fixture
async def stub_of(tmp_path: Path) -> AsyncIterator[StubOf]:
    """A running wallet, as callers of any role see it."""
    clock = VirtualClock()
    issuer = Issuer(tmp_path, clock)
    channels: list[grpc.aio.Channel] = []
    async with ServiceServer(WalletApp(settings_of(tmp_path, issuer)), clock) as server:

        def stub(role: Role, subject: str = "caller") -> Stub:
            channel = open_channel(
                server.address, token=issuer.metadata(subject, role, to="wallet")
            )
            channels.append(channel)
            return Stub(channel)

        yield stub
        audit = await stub(Role.OPERATOR).VerifyLedger(wallet_pb2.VerifyLedgerRequest())
        assert list(audit.findings) == []
        for channel in channels:
            await channel.close()


def hold(seat: int, player: str, key: str | None = None) -> wallet_pb2.HoldStakeRequest:
    """A player's stake of 100 for the first match."""
    return wallet_pb2.HoldStakeRequest(
        idempotency_key=key or f"hold-{seat}",
        hold_id=f"{MATCH}-{seat}-1",
        table_id=TABLE,
        match_id=MATCH,
        player_id=player,
        stake=100,
        rules_version=VERSION,
    )


def start(*seats: wallet_pb2.StakedSeat, variant: str = "CANAK") -> wallet_pb2.StartMatchRequest:
    """The start of the first match."""
    return wallet_pb2.StartMatchRequest(
        idempotency_key="start",
        table_id=TABLE,
        match_id=MATCH,
        variant=common_pb2.Variant.Value(f"VARIANT_{variant}"),
        mode=common_pb2.MODE_NORMAL,
        stake=100,
        rules_version=VERSION,
        seats=seats,
    )


def person(seat: int) -> wallet_pb2.StakedSeat:
    """A seat that a hold pays."""
    return wallet_pb2.StakedSeat(hold_id=f"{MATCH}-{seat}-1")


def settle(outcome: Outcome) -> wallet_pb2.SettleMatchRequest:
    """The end of the first match."""
    return wallet_pb2.SettleMatchRequest(idempotency_key="settle", match_id=MATCH, outcome=outcome)


async def failure(call: Awaitable[object]) -> tuple[str, str]:
    """Status and reason of a call that is refused."""
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await call
    found = from_rpc_error(caught.value)
    return found.code.name, found.reason


async def balance(stub: Stub, account: str) -> int:
    """An account's chips."""
    return (await stub.GetAccount(wallet_pb2.GetAccountRequest(account=account))).balance


async def test_a_canak_match_from_stake_to_payout(stub_of: StubOf) -> None:
    """M1, M2, M4, Ç4: callers name who and how, the wallet answers with the amounts."""
    engine = stub_of(Role.ENGINE)
    held = await engine.HoldStake(hold(0, "ada"))
    assert {leg.account: leg.amount for leg in held.receipt.legs} == {
        f"escrow:{TABLE}": 100,
        "player:ada": -100,
    }
    await engine.HoldStake(hold(1, "bo"))
    started = await engine.StartMatch(start(person(0), person(1)))
    assert (started.pot, started.kasa) == (180, 20)
    win = wallet_pb2.CanakWin(seat=1, finish=common_pb2.FINISH_KIND_CIFT_OKEY)
    settled = await engine.SettleMatch(settle(Outcome(canak_win=win)))
    assert settled.kasa == 0
    assert await engine.SettleMatch(settle(Outcome(canak_win=win))) == settled
    assert await balance(engine, "player:bo") == 1_000 - 100 + 180 + 20 + 50
    close = wallet_pb2.CloseTableRequest(idempotency_key="close", table_id=TABLE)
    assert (await engine.CloseTable(close)).receipt.journal_id == 0


@pytest.mark.parametrize(
    ("outcome", "ada"),
    [
        (Outcome(klasik_win=wallet_pb2.KlasikWin(seat=0)), 1_000 + 80),
        (Outcome(klasik_draw=wallet_pb2.KlasikDraw(contending=[1, 0])), 1_000),
        (Outcome(house_win=wallet_pb2.HouseWin()), 1_000 - 100),
    ],
)
async def test_a_klasik_match_is_paid(stub_of: StubOf, outcome: Outcome, ada: int) -> None:
    """K7, K10, M8: each outcome on the wire."""
    engine = stub_of(Role.ENGINE)
    await engine.HoldStake(hold(0, "ada"))
    await engine.HoldStake(hold(1, "bo"))
    assert (await engine.StartMatch(start(person(0), person(1), variant="KLASIK"))).kasa == 0
    await engine.SettleMatch(settle(outcome))
    assert await balance(engine, "player:ada") == ada


async def test_giving_up_a_draw_and_a_void(stub_of: StubOf) -> None:
    """M9, Ç7, M10: the other ways a match goes."""
    engine = stub_of(Role.ENGINE)
    await engine.HoldStake(hold(0, "ada"))
    house = wallet_pb2.StakedSeat(house=True)
    await engine.StartMatch(start(person(0), house))
    forfeit = wallet_pb2.ForfeitSeatRequest(idempotency_key="f", match_id=MATCH, seat=0)
    cost = await engine.ForfeitSeat(forfeit)
    assert (cost.penalty, cost.shortfall) == (50, 0)
    void = wallet_pb2.VoidMatchRequest(idempotency_key="v", match_id=MATCH)
    voided = await engine.VoidMatch(void)
    assert (voided.kasa, await balance(engine, "player:ada")) == (0, 950)
    draw = settle(Outcome(canak_draw=wallet_pb2.CanakDraw()))
    assert await failure(engine.SettleMatch(draw)) == ("FAILED_PRECONDITION", "MATCH_VOIDED")


async def test_a_decline_tells_its_reason_and_repeats_it(stub_of: StubOf) -> None:
    """M2, M5: FAILED_PRECONDITION, final for its key, with the holds at fault."""
    engine = stub_of(Role.ENGINE)
    for _ in range(2):
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await engine.StartMatch(start(person(0), person(1)))
        found = from_rpc_error(caught.value)
        assert (found.code.name, found.reason) == ("FAILED_PRECONDITION", "HOLDS_MISSING")
        assert found.metadata["hold_ids"] == f"{MATCH}-0-1,{MATCH}-1-1"
    void = wallet_pb2.VoidHoldRequest(idempotency_key="void", hold_id=f"{MATCH}-0-1")
    assert (await engine.VoidHold(void)).receipt.journal_id == 0
    assert await failure(engine.HoldStake(hold(0, "ada"))) == (
        "FAILED_PRECONDITION",
        "HOLD_VOIDED",
    )


async def test_a_key_with_other_content_already_exists(stub_of: StubOf) -> None:
    """M5: never silently accepted."""
    engine = stub_of(Role.ENGINE)
    await engine.HoldStake(hold(0, "ada", "key"))
    reused = await failure(engine.HoldStake(hold(0, "bo", "key")))
    assert reused == ("ALREADY_EXISTS", "TRANSFER_ID_REUSED")


@pytest.mark.parametrize("role", [Role.PLAYER, Role.LOBBY, Role.BOTS, Role.INTEGRATOR])
async def test_only_engine_and_operators_move_chips(stub_of: StubOf, role: Role) -> None:
    """M4: everybody else is refused."""
    refused = ("PERMISSION_DENIED", "ROLE_REFUSED")
    assert await failure(stub_of(role).HoldStake(hold(0, "ada"))) == refused
    grant = wallet_pb2.GrantChipsRequest(
        idempotency_key="g", player_id="ada", amount=1, reason="please"
    )
    assert await failure(stub_of(role).GrantChips(grant)) == refused
    assert await failure(stub_of(Role.ENGINE).GrantChips(grant)) == refused


async def test_a_second_operator_approves_what_is_above_the_limit(stub_of: StubOf) -> None:
    """M3: over gRPC, with the request's number in the refusal's metadata."""
    ada, bob = stub_of(Role.OPERATOR, "ada"), stub_of(Role.OPERATOR, "bob")
    grant = wallet_pb2.GrantChipsRequest(
        idempotency_key="g", player_id="bo", amount=1_000_001, reason="a prize"
    )
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await ada.GrantChips(grant)
    refusal = from_rpc_error(caught.value)
    assert (refusal.code.name, refusal.reason) == ("FAILED_PRECONDITION", "APPROVAL_NEEDED")
    number = int(refusal.metadata["approval_id"])
    [waits] = (await bob.ListApprovals(wallet_pb2.ListApprovalsRequest())).approvals
    assert (waits.approval_id, waits.requester, waits.chips) == (number, "ada", 1_000_001)
    assert waits.expires_at_ms == int(refusal.metadata["expires_at_ms"])
    assert waits.state == wallet_pb2.APPROVAL_STATE_REQUESTED
    approve = wallet_pb2.ApproveOperationRequest(approval_id=number, reason="checked")
    assert await failure(ada.ApproveOperation(approve)) == (
        "PERMISSION_DENIED",
        "SECOND_OPERATOR_NEEDED",
    )
    booked = await bob.ApproveOperation(approve)
    assert (await ada.GrantChips(grant)).receipt == booked.receipt
    reject = wallet_pb2.RejectOperationRequest(approval_id=number, reason="too late")
    assert await failure(bob.RejectOperation(reject)) == ("FAILED_PRECONDITION", "APPROVAL_DECIDED")
    assert await balance(ada, "player:bo") == 1_000 + 1_000_001


async def test_operators_book_no_play(stub_of: StubOf) -> None:
    """M3, M4: who could settle for a friend would need no grant."""
    operator = stub_of(Role.OPERATOR)
    refused = ("PERMISSION_DENIED", "ROLE_REFUSED")
    forfeit = wallet_pb2.ForfeitSeatRequest(idempotency_key="f", match_id=MATCH, seat=0)
    for call in (
        operator.HoldStake(hold(0, "ada")),
        operator.StartMatch(start(person(0), person(1))),
        operator.SettleMatch(settle(wallet_pb2.MatchOutcome(house_win=wallet_pb2.HouseWin()))),
        operator.ForfeitSeat(forfeit),
    ):
        assert await failure(call) == refused


async def test_an_operator_grants_and_takes_back(stub_of: StubOf) -> None:
    """M3: with the operator's words in the postings."""
    operator = stub_of(Role.OPERATOR)
    grant = wallet_pb2.GrantChipsRequest(
        idempotency_key="g", player_id="ada", amount=70, reason="a lost night"
    )
    granted = await operator.GrantChips(grant)
    back = wallet_pb2.ReverseJournalRequest(
        idempotency_key="r", journal_id=granted.receipt.journal_id, reason="a mistake"
    )
    await operator.ReverseJournal(back)
    listed = await operator.ListPostings(wallet_pb2.ListPostingsRequest(account="player:ada"))
    assert [(posting.amount, posting.reason) for posting in listed.postings] == [
        (1_000, ""),
        (70, "a lost night"),
        (-70, "a mistake"),
    ]
    assert [posting.kind for posting in listed.postings] == [
        wallet_pb2.JOURNAL_KIND_WELCOME,
        wallet_pb2.JOURNAL_KIND_GRANT,
        wallet_pb2.JOURNAL_KIND_REVERSAL,
    ]


async def test_players_read_their_own_account_only(stub_of: StubOf) -> None:
    """M3: opened, with the welcome grant, when its owner first asks."""
    ada = stub_of(Role.PLAYER, "ada")
    assert await balance(ada, "player:ada") == 1_000
    refused = ("PERMISSION_DENIED", "NOT_OWN_ACCOUNT")
    for other in ("player:bo", "house:rake", f"kasa:{TABLE}"):
        assert await failure(balance(ada, other)) == refused
        postings = wallet_pb2.ListPostingsRequest(account=other)
        assert await failure(ada.ListPostings(postings)) == refused
        statement = ada.ExportStatement(wallet_pb2.ExportStatementRequest(account=other))
        assert await failure(statement.read()) == refused
    assert await balance(stub_of(Role.LOBBY), "player:bo") == 1_000


async def test_an_operators_question_opens_no_account(stub_of: StubOf) -> None:
    """M3: a typing error grants nothing."""
    operator = stub_of(Role.OPERATOR)
    assert await failure(balance(operator, "player:adda")) == ("NOT_FOUND", "ACCOUNT_NOT_FOUND")
    assert await failure(balance(operator, "adda")) == ("INVALID_ARGUMENT", "UNKNOWN_ACCOUNT")
    assert await balance(operator, "system:issuance") == 0


async def test_a_statement_opens_lists_and_closes(stub_of: StubOf) -> None:
    """M5: the closing balance is the opening one and all postings."""
    engine, ada = stub_of(Role.ENGINE), stub_of(Role.PLAYER, "ada")
    await engine.HoldStake(hold(0, "ada"))
    everything = wallet_pb2.ExportStatementRequest(account="player:ada", until_ms=2**60)
    lines = [line async for line in ada.ExportStatement(everything)]
    assert lines[0].opening.balance == 0
    assert [line.posting.amount for line in lines[1:-1]] == [1_000, -100]
    assert (lines[-1].closing.balance, lines[-1].closing.posting_count) == (900, 2)
    until_now = wallet_pb2.ExportStatementRequest(account="player:ada")
    assert [line async for line in ada.ExportStatement(until_now)][-1].closing.posting_count == 0


async def test_a_statement_that_ends_before_it_begins_is_refused(stub_of: StubOf) -> None:
    backwards = wallet_pb2.ExportStatementRequest(account="player:ada", from_ms=2, until_ms=1)
    statement = stub_of(Role.PLAYER, "ada").ExportStatement(backwards)
    assert await failure(statement.read()) == ("INVALID_ARGUMENT", "SPAN_REVERSED")


async def test_pages_go_on_where_the_last_ended(stub_of: StubOf) -> None:
    """M5: and a token that no page gave out is refused."""
    engine = stub_of(Role.ENGINE)
    await engine.HoldStake(hold(0, "ada"))
    asked = wallet_pb2.ListPostingsRequest(account="player:ada", page_size=1)
    first = await engine.ListPostings(asked)
    asked.page_token = first.next_page_token
    second = await engine.ListPostings(asked)
    assert [page.postings[0].balance_after for page in (first, second)] == [1_000, 900]
    assert second.next_page_token == ""
    asked.page_token = "-1"
    assert await failure(engine.ListPostings(asked)) == ("INVALID_ARGUMENT", "PAGE_TOKEN_BROKEN")


@pytest.mark.parametrize(
    "change",
    [
        {"stake": 49},
        {"stake": -100},
        {"stake": 250_001},
        {"idempotency_key": ""},
        {"hold_id": f"{'b' * 26}-1-0-1"},
        {"match_id": f"{'b' * 26}-1"},
        {"player_id": "ada lovelace"},
    ],
)
async def test_a_malformed_request_is_refused(stub_of: StubOf, change: dict[str, object]) -> None:
    """Ç1, M4: range, overflow and ids are checked at the edge."""
    request = hold(0, "ada")
    for name, value in change.items():
        setattr(request, name, value)
    refused = await failure(stub_of(Role.ENGINE).HoldStake(request))
    assert refused == ("INVALID_ARGUMENT", "INVALID_FIELD")


@pytest.mark.parametrize("reason", ["", "a\0b", "two\nlines", "ends\n", "\x7f", "\x9b2J"])
async def test_an_operators_reason_is_one_line_of_text(stub_of: StubOf, reason: str) -> None:
    """M3: what a database would cut or refuse is refused at the edge; other signs are kept."""
    grant = wallet_pb2.GrantChipsRequest(
        idempotency_key="a-grant", player_id="ada", amount=1, reason=reason
    )
    operator = stub_of(Role.OPERATOR)
    assert await failure(operator.GrantChips(grant)) == ("INVALID_ARGUMENT", "INVALID_FIELD")
    grant.reason = "Çanak – “dört” 🂡"
    await operator.GrantChips(grant)


async def test_a_settlement_needs_an_outcome_and_a_match_two_or_four_seats(
    stub_of: StubOf,
) -> None:
    """M4, Ç0: a payer each."""
    engine = stub_of(Role.ENGINE)
    invalid = ("INVALID_ARGUMENT", "INVALID_FIELD")
    assert await failure(engine.SettleMatch(settle(Outcome()))) == invalid
    three = start(person(0), person(1), person(2))
    assert await failure(engine.StartMatch(three)) == invalid
    nobody = start(person(0), wallet_pb2.StakedSeat())
    assert await failure(engine.StartMatch(nobody)) == invalid


async def test_a_restart_keeps_the_books(tmp_path: Path) -> None:
    """M5: the same key gets the same answer from the next process."""
    clock = VirtualClock()
    issuer = Issuer(tmp_path, clock)
    receipts = []
    for _ in range(2):
        async with ServiceServer(WalletApp(settings_of(tmp_path, issuer)), clock) as server:
            token = issuer.metadata("engine", Role.ENGINE, to="wallet")
            async with open_channel(server.address, token=token) as channel:
                receipts.append(await Stub(channel).HoldStake(hold(0, "ada")))
    assert receipts[0] == receipts[1]


async def test_without_a_database_the_wallet_does_not_start(tmp_path: Path) -> None:
    """M5: the error says what to set."""
    issuer = Issuer(tmp_path)
    settings = WalletSettings(environment=Environment.TEST, jwks_file=issuer.jwks_file)
    with pytest.raises(DatabaseUrlMissing, match="OKEY_DATABASE_URL"):
        async with ServiceServer(WalletApp(settings)):
            pass


def test_the_proto_names_every_decline_journal_kind_and_finding() -> None:
    """M5: what callers switch on is documented, and nothing else is."""

    def names(enum: str, prefix: str) -> set[str]:
        values = wallet_pb2.DESCRIPTOR.enum_types_by_name[enum].values_by_name
        return {name.removeprefix(prefix) for name in values} - {"UNSPECIFIED"}

    assert names("DeclineReason", "DECLINE_REASON_") == set(DECLINES)
    assert names("JournalKind", "JOURNAL_KIND_") == {kind.name for kind in JournalKind}
    assert names("FindingKind", "FINDING_KIND_") == {kind.name for kind in FindingKind}


def test_every_method_says_who_may_call_it() -> None:
    """M4: a method that no table lists would be refused to everybody."""
    service = wallet_pb2.DESCRIPTOR.services_by_name["WalletService"]
    methods = {f"/{service.full_name}/{method.name}" for method in service.methods}
    assert set(ACCESS.rules()) == methods


@pytest.mark.parametrize(
    ("environment", "chips"), [(Environment.STANDALONE, 10_000), (Environment.TEST, 0)]
)
def test_the_welcome_grant_is_a_setting(environment: Environment, chips: int) -> None:
    """M3: 10,000 chips in standalone, elsewhere nothing unless set."""
    assert WalletSettings(environment=environment).opening_chips == chips
    assert WalletSettings(environment=environment, welcome_chips=7).opening_chips == 7

"""WalletService: requests to commands, receipts to answers; the rules stand in ``okey.money``."""

from collections.abc import AsyncIterator
from typing import Any, Final

import grpc

from okey.api.wallet.v1 import wallet_pb2, wallet_pb2_grpc
from okey.errors import Forbidden
from okey.money.account import Account, is_player, parse_account, player_account
from okey_runtime.access import AccessTable
from okey_runtime.identity import Identity, Role, current_identity
from services.wallet import wire
from services.wallet.approvals import Decision
from services.wallet.command import (
    CloseTable,
    GrantChips,
    ReverseJournal,
    VoidHold,
    VoidMatch,
)
from services.wallet.erasure import Erase
from services.wallet.operations import Operations
from services.wallet.statement import Span
from services.wallet.wallet import OperatorTokenNeeded, Wallet

SERVICE: Final = "okey.api.wallet.v1.WalletService"

_ENGINE: Final = frozenset({Role.ENGINE})
# What gives stakes back, or the house what nobody owns, an operator may do by hand.
_GIVING_BACK: Final = frozenset({Role.ENGINE, Role.OPERATOR})
_OPERATORS: Final = frozenset({Role.OPERATOR})
_READERS_OF_ALL: Final = frozenset({Role.LOBBY, Role.ENGINE, Role.OPERATOR})
_READERS: Final = _READERS_OF_ALL | {Role.PLAYER}

ACCESS: Final = AccessTable.of(
    SERVICE,
    {
        "HoldStake": _ENGINE,
        "VoidHold": _GIVING_BACK,
        "StartMatch": _ENGINE,
        "SettleMatch": _ENGINE,
        "VoidMatch": _GIVING_BACK,
        "ForfeitSeat": _ENGINE,
        "CloseTable": _GIVING_BACK,
        "GrantChips": _OPERATORS,
        "ReverseJournal": _OPERATORS,
        "ListApprovals": _OPERATORS,
        "ApproveOperation": _OPERATORS,
        "RejectOperation": _OPERATORS,
        "GetAccount": _READERS,
        "ListPostings": _READERS,
        "ExportStatement": _READERS,
        "VerifyLedger": _OPERATORS,
        "AuditLedger": _OPERATORS,
        "ExportAnchors": _OPERATORS,
        "FreezeAccount": _OPERATORS,
        "UnfreezeAccount": _OPERATORS,
        "ErasePlayer": _OPERATORS,
    },
    {"ListPostings": 5, "ExportStatement": 50},
)

_DEFAULT_PAGE_SIZE: Final = 100

Context = grpc.aio.ServicerContext[Any, Any]


class NotOwnAccount(Forbidden):
    """A player asked for an account that is not the player's own."""

    reason = "NOT_OWN_ACCOUNT"


class WalletServicer(wallet_pb2_grpc.WalletServiceServicer):
    """Serves one wallet; requests were checked for shape and role before they come here."""

    def __init__(self, wallet: Wallet, operations: Operations) -> None:
        self._wallet = wallet
        self._operations = operations

    async def HoldStake(
        self, request: wallet_pb2.HoldStakeRequest, context: Context
    ) -> wallet_pb2.HoldStakeResponse:
        """M1: take a stake."""
        receipt = await self._wallet.execute(request.idempotency_key, wire.hold_from(request))
        return wallet_pb2.HoldStakeResponse(receipt=wire.receipt_to(receipt))

    async def VoidHold(
        self, request: wallet_pb2.VoidHoldRequest, context: Context
    ) -> wallet_pb2.VoidHoldResponse:
        """M1: give a stake back."""
        command = VoidHold(hold_id=request.hold_id)
        receipt = await self._wallet.execute(request.idempotency_key, command)
        return wallet_pb2.VoidHoldResponse(receipt=wire.receipt_to(receipt))

    async def StartMatch(
        self, request: wallet_pb2.StartMatchRequest, context: Context
    ) -> wallet_pb2.StartMatchResponse:
        """M2: make the pot."""
        receipt = await self._wallet.execute(request.idempotency_key, wire.start_from(request))
        return wallet_pb2.StartMatchResponse(
            receipt=wire.receipt_to(receipt), pot=receipt.pot, kasa=receipt.kasa
        )

    async def SettleMatch(
        self, request: wallet_pb2.SettleMatchRequest, context: Context
    ) -> wallet_pb2.SettleMatchResponse:
        """M4: pay the pot."""
        receipt = await self._wallet.execute(request.idempotency_key, wire.settle_from(request))
        return wallet_pb2.SettleMatchResponse(receipt=wire.receipt_to(receipt), kasa=receipt.kasa)

    async def VoidMatch(
        self, request: wallet_pb2.VoidMatchRequest, context: Context
    ) -> wallet_pb2.VoidMatchResponse:
        """M10: take a match back."""
        command = VoidMatch(match_id=request.match_id)
        receipt = await self._wallet.execute(request.idempotency_key, command)
        return wallet_pb2.VoidMatchResponse(receipt=wire.receipt_to(receipt), kasa=receipt.kasa)

    async def ForfeitSeat(
        self, request: wallet_pb2.ForfeitSeatRequest, context: Context
    ) -> wallet_pb2.ForfeitSeatResponse:
        """M9: book a penalty."""
        receipt = await self._wallet.execute(request.idempotency_key, wire.forfeit_from(request))
        return wallet_pb2.ForfeitSeatResponse(
            receipt=wire.receipt_to(receipt),
            penalty=receipt.penalty,
            shortfall=receipt.shortfall,
        )

    async def CloseTable(
        self, request: wallet_pb2.CloseTableRequest, context: Context
    ) -> wallet_pb2.CloseTableResponse:
        """Ç10: close a table."""
        command = CloseTable(table_id=request.table_id)
        receipt = await self._wallet.execute(request.idempotency_key, command)
        return wallet_pb2.CloseTableResponse(receipt=wire.receipt_to(receipt))

    async def GrantChips(
        self, request: wallet_pb2.GrantChipsRequest, context: Context
    ) -> wallet_pb2.GrantChipsResponse:
        """M3: new chips."""
        caller = current_identity()
        command = GrantChips(
            player_id=request.player_id,
            amount=request.amount,
            actor=caller.subject,
            reason=request.reason,
        )
        receipt = await self._wallet.execute(
            request.idempotency_key, command, has_token=caller.has_token
        )
        return wallet_pb2.GrantChipsResponse(receipt=wire.receipt_to(receipt))

    async def ReverseJournal(
        self, request: wallet_pb2.ReverseJournalRequest, context: Context
    ) -> wallet_pb2.ReverseJournalResponse:
        """Take a grant or a penalty back."""
        caller = current_identity()
        command = ReverseJournal(
            journal_id=request.journal_id,
            actor=caller.subject,
            reason=request.reason,
        )
        receipt = await self._wallet.execute(
            request.idempotency_key, command, has_token=caller.has_token
        )
        return wallet_pb2.ReverseJournalResponse(receipt=wire.receipt_to(receipt))

    async def ListApprovals(
        self, request: wallet_pb2.ListApprovalsRequest, context: Context
    ) -> wallet_pb2.ListApprovalsResponse:
        """What waits for a second operator."""
        page = await self._operations.approvals(
            wire.after_journal(request.page_token) or None,
            request.page_size or _DEFAULT_PAGE_SIZE,
            waiting_only=not request.include_decided,
        )
        return wallet_pb2.ListApprovalsResponse(
            approvals=map(wire.approval_to, page.approvals),
            next_page_token="" if page.next_before is None else str(page.next_before),
        )

    async def ApproveOperation(
        self, request: wallet_pb2.ApproveOperationRequest, context: Context
    ) -> wallet_pb2.ApproveOperationResponse:
        """Book another operator's request."""
        caller = current_identity()
        if not caller.has_token:
            raise OperatorTokenNeeded(caller.subject, "an approval")
        approval, receipt = await self._operations.approve(
            Decision(request.approval_id, caller.subject, request.reason)
        )
        return wallet_pb2.ApproveOperationResponse(
            approval=wire.approval_to(approval), receipt=wire.receipt_to(receipt)
        )

    async def RejectOperation(
        self, request: wallet_pb2.RejectOperationRequest, context: Context
    ) -> wallet_pb2.RejectOperationResponse:
        """Reject a request."""
        operator = current_identity().subject
        approval = await self._operations.reject(
            Decision(request.approval_id, operator, request.reason)
        )
        return wallet_pb2.RejectOperationResponse(approval=wire.approval_to(approval))

    async def GetAccount(
        self, request: wallet_pb2.GetAccountRequest, context: Context
    ) -> wallet_pb2.GetAccountResponse:
        """A balance."""
        caller = current_identity()
        account = _readable(request.account, caller)
        # An operator's typing error must not open an account with a welcome grant.
        is_operator = Role.OPERATOR in caller.roles
        view = await self._wallet.account(account, may_open=not is_operator)
        return wallet_pb2.GetAccountResponse(
            account=view.account,
            balance=view.balance,
            version=view.version,
            frozen=view.frozen,
            closed=view.closed,
        )

    async def ListPostings(
        self, request: wallet_pb2.ListPostingsRequest, context: Context
    ) -> wallet_pb2.ListPostingsResponse:
        """A page of postings."""
        account = _readable(request.account, current_identity())
        page = await self._wallet.postings(
            account,
            wire.after_journal(request.page_token),
            request.page_size or _DEFAULT_PAGE_SIZE,
        )
        return wallet_pb2.ListPostingsResponse(
            postings=map(wire.posting_to, page.postings),
            next_page_token="" if page.next_after is None else str(page.next_after),
        )

    async def ExportStatement(
        self, request: wallet_pb2.ExportStatementRequest, context: Context
    ) -> AsyncIterator[wallet_pb2.ExportStatementResponse]:
        """A statement, line by line."""
        account = _readable(request.account, current_identity())
        until_ms = request.until_ms or max(self._wallet.now_ms(), request.from_ms)
        span = Span(request.from_ms, until_ms)
        balance = await self._wallet.balance_at(account, request.from_ms)
        opening = wallet_pb2.StatementOpening(balance=balance)
        yield wallet_pb2.ExportStatementResponse(opening=opening)
        count = 0
        async for posting in self._wallet.statement(account, span):
            balance += posting.amount
            count += 1
            yield wallet_pb2.ExportStatementResponse(posting=wire.posting_to(posting))
        closing = wallet_pb2.StatementClosing(balance=balance, posting_count=count)
        yield wallet_pb2.ExportStatementResponse(closing=closing)

    async def VerifyLedger(
        self, request: wallet_pb2.VerifyLedgerRequest, context: Context
    ) -> wallet_pb2.VerifyLedgerResponse:
        """The check of the whole ledger."""
        return wire.audit_to(await self._wallet.audit())

    async def AuditLedger(
        self, request: wallet_pb2.AuditLedgerRequest, context: Context
    ) -> AsyncIterator[wallet_pb2.AuditLedgerResponse]:
        """The whole audit, as it goes on."""
        anchors = [wire.anchor_from(anchor) for anchor in request.anchors]
        actor = current_identity().subject if request.freeze else None
        async for message in self._operations.audit(anchors, actor):
            yield wire.audit_message_to(message)

    async def ExportAnchors(
        self, request: wallet_pb2.ExportAnchorsRequest, context: Context
    ) -> wallet_pb2.ExportAnchorsResponse:
        """The chain's signed head."""
        head, public_key = await self._operations.anchor()
        return wallet_pb2.ExportAnchorsResponse(
            anchors=[] if head is None else [wire.anchor_to(head)], public_key=public_key
        )

    async def FreezeAccount(
        self, request: wallet_pb2.FreezeAccountRequest, context: Context
    ) -> wallet_pb2.FreezeAccountResponse:
        """Nothing can be taken from the account any more."""
        account, actor = parse_account(request.account), current_identity().subject
        changed = await self._operations.set_frozen(
            account, frozen=True, actor=actor, reason=request.reason
        )
        return wallet_pb2.FreezeAccountResponse(changed=changed)

    async def UnfreezeAccount(
        self, request: wallet_pb2.UnfreezeAccountRequest, context: Context
    ) -> wallet_pb2.UnfreezeAccountResponse:
        """The account is its owner's again."""
        account, actor = parse_account(request.account), current_identity().subject
        changed = await self._operations.set_frozen(
            account, frozen=False, actor=actor, reason=request.reason
        )
        return wallet_pb2.UnfreezeAccountResponse(changed=changed)

    async def ErasePlayer(
        self, request: wallet_pb2.ErasePlayerRequest, context: Context
    ) -> wallet_pb2.ErasePlayerResponse:
        """The account is closed for good."""
        asked = Erase(
            player_id=request.player_id,
            actor=current_identity().subject,
            reason=request.reason,
            allow_unknown=request.allow_unknown,
        )
        closed = await self._operations.erase(asked, check_only=request.check_only)
        return wallet_pb2.ErasePlayerResponse(changed=closed.changed, unclaimed=closed.unclaimed)


def _readable(name: str, caller: Identity) -> Account:
    """The account, if the caller may read it. Raises ``UnknownAccount``, ``NotOwnAccount``."""
    account = parse_account(name)
    if caller.has_any(_READERS_OF_ALL) or account == player_account(caller.subject):
        return account
    whose = "another player's" if is_player(account) else "not a player's"
    raise NotOwnAccount(f"{name} is {whose} account: ask for {player_account(caller.subject)}")

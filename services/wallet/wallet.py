"""The wallet: every command exactly once, every read from one snapshot (M5)."""

import asyncio
from collections.abc import AsyncIterator, Coroutine, Sequence
from typing import Any, Final, assert_never

from sqlalchemy import Connection

from okey.errors import Exhausted, InvalidInput, Refused, Unavailable
from okey.money.account import Account, is_player
from okey_runtime import failpoints
from okey_runtime.clock import Clock
from okey_runtime.database import Database, DatabaseLocked, DatabaseRefused, Isolation, Work
from okey_runtime.storage import T
from services.wallet.approvals import (
    AboveLimit,
    Approval,
    ApprovalNeeded,
    keep_request,
    note,
    refuse_undecided,
    require_within_limit,
)
from services.wallet.audit import Audit, audit
from services.wallet.books import Books, House
from services.wallet.closing import close
from services.wallet.command import (
    CloseTable,
    Command,
    ForfeitSeat,
    GrantChips,
    HoldStake,
    ReverseJournal,
    SettleMatch,
    StartMatch,
    VoidHold,
    VoidMatch,
)
from services.wallet.decline import Declined
from services.wallet.gathering import Gathering, Request
from services.wallet.grants import grant_chips, reverse_journal
from services.wallet.patience import wait_shortly
from services.wallet.receipt import Receipt, recall, remember
from services.wallet.running import forfeit_seat, settle_match, void
from services.wallet.stakes import hold_stake, void_stake
from services.wallet.start import start
from services.wallet.statement import (
    EVER,
    AccountView,
    Page,
    PostingView,
    Span,
    balance_at,
    find_account,
    list_postings,
)
from services.wallet.step import FellOut, NotTogether, alone, in_step

_MAX_TRIES: Final = 5
_STATEMENT_PAGE: Final = 500

_BY_OPERATORS: Final = (GrantChips, ReverseJournal)
"""Commands that need a second operator above the limit."""
_DAILY: Final = (HoldStake, StartMatch, SettleMatch)
"""Commands that come often and are made to share a transaction."""
_MOST_TOGETHER: Final = 32
"""So many hold their locks for some ten milliseconds."""
_LANES: Final = 2
"""One transaction is with the database while another is with us; SQLite has one writer."""


class KeyContended(Unavailable):
    """Others kept using the same key at the same time; send the same request again."""

    reason = "KEY_CONTENDED"


class OperatorTokenNeeded(Refused):
    """Only a certificate names the operator; who shares it could request and approve alone."""

    reason = "OPERATOR_TOKEN_NEEDED"

    def __init__(self, operator: str, what: str) -> None:
        super().__init__(
            f"{what} needs an operator whom a token names; the certificate {operator} alone may be "
            "several people's: call with your own token"
        )


class _KeyTaken(NotTogether):
    """Somebody else has used the key while we worked; our work is rolled back, theirs stands."""


class Wallet:
    """The service's own face; amounts in chips, times in milliseconds since the epoch."""

    def __init__(self, database: Database, house: House, clock: Clock) -> None:
        self._database = database
        self._house = house
        self._clock = clock
        lanes = _LANES if database.dialect == "postgresql" else 1
        self._gathering = Gathering(self._gathered, lanes=lanes, most=_MOST_TOGETHER)

    async def execute(self, key: str, command: Command, *, has_token: bool = True) -> Receipt:
        """Carry the command out, once for its key; a repeated one gets the first answer.

        ``has_token`` says that a token, and not a certificate alone, named an operator.

        Raises:
            Declined: final for this key; nothing was or will be booked.
            TransferIdReused: the key was used for something else.
            ApprovalNeeded: kept as a request; the same key gets the receipt once it is approved.
            OperatorTokenNeeded: above the limit, and no token; nothing is kept.
            ApprovalRejected, ApprovalExpired: it never was; final for this key.
            InvalidInput: the command contradicts itself or its match; the key is not used up.
            Unavailable: not known; send the same again.
        """
        request = Request(key, command, has_token)
        answer = await self._gathering.ask(request) if isinstance(command, _DAILY) else None
        if answer is None:
            answer = await self._alone(request)
        failpoints.hit("wallet.committed", command)
        if isinstance(answer, Declined):
            raise answer
        return answer

    async def account(self, account: Account, *, may_open: bool) -> AccountView:
        """An account as it is now; with ``may_open`` a player's is opened on first use.

        Raises ``AccountNotFound``.
        """
        if may_open and is_player(account):
            await self._database.transact(
                lambda connection: alone(connection, self._books(connection).lock([account])),
                Isolation.READ_COMMITTED,
            )
        return await self._database.read(lambda connection: find_account(connection, account))

    async def postings(
        self, account: Account, after_journal: int, limit: int, span: Span = EVER
    ) -> Page:
        """The account's next ``limit`` postings after that journal, oldest first."""
        return await self._database.read(
            lambda connection: list_postings(connection, account, after_journal, limit, span)
        )

    async def balance_at(self, account: Account, moment_ms: int) -> int:
        """The sum of all postings booked before the moment."""
        return await self._database.read(
            lambda connection: balance_at(connection, account, moment_ms)
        )

    async def statement(self, account: Account, span: Span) -> AsyncIterator[PostingView]:
        """The account's postings of the span, oldest first, a page in memory at a time."""
        after = 0
        while True:
            page = await self.postings(account, after, _STATEMENT_PAGE, span)
            for posting in page.postings:
                yield posting
            if page.next_after is None:
                return
            after = page.next_after

    async def audit(self) -> Audit:
        """Check the whole ledger against itself."""
        return await self._database.read(audit)

    def now_ms(self) -> int:
        """The wallet's clock."""
        return self._clock.now_ms()

    async def _gathered(self, requests: Sequence[Request]) -> Sequence[Receipt | Declined | None]:
        """What the requests came to; None for one that is to be carried out alone."""
        if len(requests) == 1:
            return [await self._single(requests[0])]
        rest = list(requests)
        while rest:
            [outcome] = await asyncio.gather(self._together(rest), return_exceptions=True)
            match outcome:
                case FellOut(errors=errors):
                    rest = [each for place, each in enumerate(rest) if place not in errors]
                case DatabaseLocked() | DatabaseRefused():
                    break  # whose it is comes out when each is carried out alone
                case Unavailable() | Exhausted():
                    raise outcome
                case BaseException():
                    break  # a fault of somebody's, as well
                case _:
                    answers = dict(zip(rest, outcome, strict=True))
                    return [answers.get(request) for request in requests]
        return [None] * len(requests)

    async def _together(self, requests: Sequence[Request]) -> Sequence[Receipt | Declined]:
        """Carry all out in one transaction. Raises ``FellOut``; nothing is booked then."""

        def attempt(connection: Connection) -> Sequence[Receipt | Declined]:
            books = self._books(connection)
            work = [self._carry_out(books, each, is_new=True) for each in requests]
            return in_step(connection, work)

        return await self._transact(attempt, in_lane=True)

    async def _single(self, request: Request) -> Receipt | Declined | None:
        """Carry out the only one of a lane; None if it would hold the lane up."""
        try:
            return await self._alone(request, in_lane=True)
        except DatabaseLocked:
            return None

    async def _alone(self, request: Request, *, in_lane: bool = False) -> Receipt | Declined:
        for tries in range(_MAX_TRIES):
            try:
                return await self._answer(request, is_new=tries == 0, in_lane=in_lane)
            except _KeyTaken:
                continue
        raise KeyContended(f"key {request.key!r} is in use by others at once; send the same again")

    async def _answer(self, request: Request, *, is_new: bool, in_lane: bool) -> Receipt | Declined:
        """One try. A key is nearly always new, so the first try does not ask for it: work under a
        known key is found out by its row at the end, rolled back, and answered by the next try.
        """
        key, command = request.key, request.command

        def attempt(connection: Connection) -> Receipt | Declined:
            books = self._books(connection)
            return alone(connection, self._carry_out(books, request, is_new=is_new))

        try:
            return await self._transact(attempt, in_lane=in_lane)
        except Declined as decline:
            return await self._decline(request, decline, in_lane=in_lane)
        except AboveLimit as above:
            raise await self._keep_request(request, above) from None
        except InvalidInput:
            if is_new and await self._is_known(key, command):
                # It was valid when it was booked.
                raise _KeyTaken from None
            raise

    async def _is_known(self, key: str, command: Command) -> bool:
        return await self._database.read(
            lambda connection: recall(connection, key, command) is not None
        )

    async def _decline(
        self, request: Request, decline: Declined, *, in_lane: bool
    ) -> Receipt | Declined:
        """Keep the decline, in a transaction of its own since the declined work is rolled back."""
        key, command = request.key, request.command

        def keep(connection: Connection) -> Receipt | Declined:
            failpoints.hit("wallet.declining", command)
            if alone(connection, remember(key, command, decline, self.now_ms())):
                failpoints.hit("wallet.before_commit", command)
                return decline
            known = recall(connection, key, command)
            if known is None:
                raise _KeyTaken
            return known

        return await self._transact(keep, in_lane=in_lane)

    async def _keep_request(self, request: Request, above: AboveLimit) -> ApprovalNeeded:
        """Keep what is above the limit, in a transaction of its own. Raises ``_KeyTaken``."""
        command = request.command
        assert isinstance(command, _BY_OPERATORS)
        if not request.has_token:
            raise OperatorTokenNeeded(command.actor, "what is above the limit")

        def keep(connection: Connection) -> tuple[ApprovalNeeded, Approval] | None:
            failpoints.hit("wallet.requesting", command)
            if recall(connection, request.key, command) is not None:
                return None
            needed = keep_request(self._books(connection), request.key, command, above)
            failpoints.hit("wallet.before_commit", command)
            return needed

        kept = await self._transact(keep, in_lane=False)
        if kept is None:
            raise _KeyTaken
        needed, approval = kept
        note("approval_requested", approval, command.actor)
        return needed

    async def _transact(self, work: Work[T], *, in_lane: bool) -> T:
        def attempt(connection: Connection) -> T:
            if in_lane:
                wait_shortly(connection)
            return work(connection)

        return await self._database.transact(attempt, Isolation.READ_COMMITTED)

    async def _carry_out(
        self, books: Books, request: Request, *, is_new: bool
    ) -> Receipt | Declined:
        """Book the request under its key. Raises ``_KeyTaken``, or what its operation raises."""
        key, command = request.key, request.command
        failpoints.hit("wallet.begun", command)
        known = None if is_new else recall(books.connection, key, command)
        failpoints.hit("wallet.key_checked", command)
        if known is not None:
            return known
        if isinstance(command, _BY_OPERATORS) and refuse_undecided(
            books.connection, key, command, books.now_ms
        ):
            raise _KeyTaken
        receipt = await operation(books, command)
        if isinstance(command, _BY_OPERATORS):
            require_within_limit(books, command, receipt)
        if not await remember(key, command, receipt, books.now_ms):
            raise _KeyTaken
        failpoints.hit("wallet.before_commit", command)
        return receipt

    def _books(self, connection: Connection) -> Books:
        return Books(connection, self._house, self.now_ms())


def operation(books: Books, command: Command) -> Coroutine[Any, Any, Receipt]:
    """What carries the command out, without its key."""
    match command:
        case HoldStake():
            return hold_stake(books, command)
        case VoidHold():
            return void_stake(books, command)
        case StartMatch():
            return start(books, command)
        case SettleMatch():
            return settle_match(books, command)
        case VoidMatch():
            return void(books, command)
        case ForfeitSeat():
            return forfeit_seat(books, command)
        case CloseTable():
            return close(books, command)
        case GrantChips():
            return grant_chips(books, command)
        case ReverseJournal():
            return reverse_journal(books, command)
        case _:
            assert_never(command)

"""What operators do beside money events: audit, export the chain's head, freeze accounts."""

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

from sqlalchemy import Connection

from okey.errors import OkeyError
from okey.money.account import Account
from okey_runtime import failpoints
from okey_runtime.clock import Clock
from okey_runtime.database import Database, Isolation
from services.wallet.approvals import Approval, ApprovalPage, Decision, list_approvals, note
from services.wallet.auditing import Auditor, FullAudit
from services.wallet.books import Books, House
from services.wallet.chain import Head
from services.wallet.erasure import Closed, Erase, close_account
from services.wallet.finding import Finding
from services.wallet.freeze import set_frozen
from services.wallet.receipt import Receipt
from services.wallet.sealer import ChainKeyMissing, Sealer
from services.wallet.second_operator import approve, reject

_PROGRESS_KEPT: Final = 16


@dataclass(frozen=True, slots=True)
class Progress:
    """How far one step of an audit is."""

    step: str
    done: int
    total: int


class Operations:
    """The operators' side of one wallet."""

    def __init__(
        self,
        database: Database,
        house: House,
        clock: Clock,
        auditor: Auditor,
        sealer: Sealer | None,
    ) -> None:
        self._database = database
        self._house = house
        self._clock = clock
        self._auditor = auditor
        self._sealer = sealer

    async def audit(
        self, anchors: Sequence[Head], freeze_as: str | None
    ) -> AsyncIterator[Progress | Finding | FullAudit]:
        """Audit and tell: progress while it goes on, then the findings, the result last."""
        loop = asyncio.get_running_loop()
        queue: asyncio.Queue[Progress] = asyncio.Queue(_PROGRESS_KEPT)

        def put(progress: Progress) -> None:
            if not queue.full():
                queue.put_nowait(progress)

        def tell(step: str, done: int, total: int) -> None:
            loop.call_soon_threadsafe(put, Progress(step, done, total))

        work = asyncio.create_task(
            self._auditor.run(anchors=anchors, freeze_as=freeze_as, tell=tell)
        )
        try:
            while not work.done() or not queue.empty():
                told = asyncio.create_task(queue.get())
                await asyncio.wait([work, told], return_when=asyncio.FIRST_COMPLETED)
                if not told.done():
                    told.cancel()
                else:
                    yield told.result()
            result = await work
        finally:
            work.cancel()
        for finding in result.findings:
            yield finding
        yield result

    async def anchor(self) -> tuple[Head | None, str]:
        """The chain's head after sealing what is booked, and the public key as a JWK.

        Raises ``ChainKeyMissing``.
        """
        if self._sealer is None:
            raise ChainKeyMissing("this wallet has no key to sign with: set OKEY_CHAIN_KEY_FILE")
        return await self._sealer.head(), json.dumps(self._sealer.keys.public_jwk)

    async def set_frozen(self, account: Account, *, frozen: bool, actor: str, reason: str) -> bool:
        """Freeze a player's account or lift that; whether it changed anything.

        Raises ``AccountNotFreezable``, ``AccountNotFound``.
        """
        change = partial(
            set_frozen,
            account=account,
            frozen=frozen,
            actor=actor,
            reason=reason,
            now_ms=self._clock.now_ms(),
        )
        return await self._database.transact(change, Isolation.READ_COMMITTED)

    async def approve(self, asked: Decision) -> tuple[Approval, Receipt]:
        """Book another operator's request, once.

        Raises a ``Declined``, after which it still waits; ``ApprovalUnknown``, ``ApprovalDecided``,
        ``ApprovalExpired``, ``ApprovalAltered``, ``SecondOperatorNeeded``.
        """
        decided = await self._database.transact(
            lambda connection: approve(self._books(connection), asked), Isolation.READ_COMMITTED
        )
        if isinstance(decided, OkeyError):
            raise decided
        approval, receipt = decided
        failpoints.hit("wallet.committed", approval.command())
        note("operation_approved", approval, asked.operator)
        return approval, receipt

    async def reject(self, asked: Decision) -> Approval:
        """Reject a request, one's own too.

        Raises ``ApprovalUnknown``, ``ApprovalDecided``, ``ApprovalExpired``.
        """
        decided = await self._database.transact(
            lambda connection: reject(self._books(connection), asked), Isolation.READ_COMMITTED
        )
        if isinstance(decided, OkeyError):
            raise decided
        note("operation_rejected", decided, asked.operator)
        return decided

    async def approvals(
        self, before: int | None, limit: int, *, waiting_only: bool
    ) -> ApprovalPage:
        """Requests for approval, newest first."""
        now_ms = self._clock.now_ms()
        return await self._database.read(
            lambda connection: list_approvals(
                connection, before, limit, now_ms, waiting_only=waiting_only
            )
        )

    def _books(self, connection: Connection) -> Books:
        return Books(connection, self._house, self._clock.now_ms())

    async def erase(self, asked: Erase, *, check_only: bool) -> Closed:
        """Close a player's account for good, or only tell whether that would be refused.

        Raises ``PlayerHolding``, ``AccountFrozen``, ``PlayerUnknown``.
        """

        def work(connection: Connection) -> Closed:
            attempt = connection.begin_nested()
            closed = close_account(connection, asked, self._house, self._clock.now_ms())
            (attempt.rollback if check_only else attempt.commit)()
            return closed

        return await self._database.transact(work, Isolation.READ_COMMITTED)

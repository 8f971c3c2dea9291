"""An operator ends a table, also one whose rows do not replay.

Where the rows replay it is a command of the table like any other. Where they do not, the wallet is
told to void every match that the readable rows name and it has not ended, and the table is closed
past its journal: the row in ``voided`` is what is left to say who did so and why.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from google.protobuf.message import DecodeError, Message

from okey.api.wallet.v1 import wallet_pb2
from okey.table import commands as c
from okey.table import events as e
from okey_runtime.clock import Clock
from okey_runtime.codec import UndecodableMessage
from okey_runtime.logging import get_logger
from services.engine.archive import StoredRow
from services.engine.errors import NoSuchTable, TableQuarantined, WalletAway
from services.engine.interventions import Interventions
from services.engine.journal import Journal
from services.engine.operators import Operators, Voided
from services.engine.record import Request, Row, decode_events
from services.engine.relay import Answer, Uncertain
from services.engine.wallet_sink import WalletSink

_log = get_logger(__name__)

VoidCall = wallet_pb2.VoidMatchRequest | wallet_pb2.CloseTableRequest


class Wallet(Protocol):
    """Who is told to void; ``WalletSink`` is the one for production."""

    async def deliver(self, call: Message) -> Answer:
        """Make the call once, or raise ``Uncertain``."""
        ...


@dataclass(frozen=True, slots=True)
class Ended:
    """The row that ended the table, or (0) what the wallet was told past its journal."""

    seq: int
    match_ids: tuple[str, ...] = ()
    left_at_wallet: str = ""


class Voiding:
    """What operators do to a table that must not go on."""

    def __init__(
        self,
        interventions: Interventions,
        journal: Journal,
        operators: Operators,
        wallet: Wallet,
        clock: Clock,
    ) -> None:
        self._interventions = interventions
        self._journal = journal
        self._operators = operators
        self._wallet = wallet
        self._clock = clock

    async def void_table(self, table_id: str, operator: str, reason: str, asked: Request) -> Ended:
        """End the table.

        Raises ``NoSuchTable``, ``TableIsClosed``, or ``WalletAway`` and ``DatabaseAway``: then the
        same may be asked again.
        """
        known = await self._operators.voided(table_id)
        if known is None:
            try:
                command = c.VoidTable(operator, reason)
                return Ended((await self._interventions.void(table_id, command, asked)).seq)
            except TableQuarantined:
                known = await self._begin(table_id, operator, reason)
        return await self._go_on(table_id, known)

    async def _begin(self, table_id: str, operator: str, reason: str) -> Voided:
        if await self._journal.registered(table_id) is None:
            raise NoSuchTable(f"there is no table {table_id}")
        rows = await self._journal.stored_rows(table_id)
        told = (await self._journal.cursors(table_id)).get(WalletSink.name, 0)
        match_ids = tuple(matches_to_void(table_id, rows, told))
        asked = Voided(self._clock.now_ms(), operator, reason, match_ids, is_done=False)
        _log.error("table_voided", table_id=table_id, operator=operator, reason=reason)
        return await self._operators.begin_void(table_id, asked)

    async def _go_on(self, table_id: str, voided: Voided) -> Ended:
        """Tell the wallet; its answers are kept under their keys, so once more does no harm."""
        left = ""
        for call in void_calls(table_id, voided):
            try:
                answer = await self._wallet.deliver(call)
            except Uncertain as error:
                raise WalletAway(
                    f"the wallet gives no definite answer ({error}); table {table_id} stands "
                    "still meanwhile: send the same request again"
                ) from error
            left = answer.declined
            _log.info("wallet_told", table_id=table_id, declined=answer.declined)
        if not voided.is_done:
            await self._operators.finish_void(table_id, self._clock.now_ms())
            self._interventions.close_voided(table_id)
        return Ended(0, voided.match_ids, left)


def void_calls(table_id: str, voided: Voided) -> list[VoidCall]:
    """What the wallet is told past the journal, in order."""
    calls: list[VoidCall] = [
        wallet_pb2.VoidMatchRequest(idempotency_key=f"{match_id}-void", match_id=match_id)
        for match_id in voided.match_ids
    ]
    return [
        *calls,
        wallet_pb2.CloseTableRequest(idempotency_key=f"{table_id}-void", table_id=table_id),
    ]


def readable(rows: Sequence[StoredRow]) -> Iterator[Row]:
    """Those rows that this version can read."""
    for row in rows:
        try:
            yield Row(row.seq, row.at_ms, decode_events(row.payload), row.request)
        except (DecodeError, UndecodableMessage):
            _log.warning("row_passed_over", seq=row.seq)


def matches_to_void(table_id: str, rows: Sequence[StoredRow], told: int) -> list[str]:
    """The matches that may have stakes at the wallet, by what the readable rows say.

    Those that are named and have not ended, as far as the wallet was ``told``, and the one after
    them, which an unreadable row may have begun: to void a match that is not there does nothing.
    """
    newest, ended = 0, set[int]()
    for row in readable(rows):
        for event in row.events:
            match event:
                case e.SeatRequested(hold_id=hold_id):
                    newest = max(newest, _number(hold_id.rsplit("-", 2)[0]))
                case e.MatchStartRequested(match_no=number):
                    newest = max(newest, number)
                case e.MatchEnded(match_id) | e.MatchVoided(match_id) if row.seq <= told:
                    ended.add(_number(match_id))
    return [f"{table_id}-{n}" for n in range(1, newest + 2) if n not in ended]


def _number(match_id: str) -> int:
    return int(match_id.rsplit("-", 1)[1])

"""Every event that moves chips, out of the journal: what audits compare the wallet's books with."""

from collections.abc import AsyncIterator, Iterator, Sequence
from typing import Final, assert_never

from google.protobuf.message import DecodeError

from okey.api.engine.v1 import engine_pb2
from okey.api.wallet.v1 import wallet_pb2
from okey.table import events as e
from okey_runtime.codec import UndecodableMessage
from okey_runtime.logging import get_logger
from services.engine.journal import Journal
from services.engine.operators import Operators, Voided
from services.engine.record import Row
from services.engine.voiding import readable, void_calls
from services.engine.wallet_sink import WalletCall, WalletSink, wallet_calls

_PAGE: Final = 200

_log = get_logger(__name__)

MoneyEvent = engine_pb2.ExportMoneyEventsResponse


class NeverOpened(Exception):
    """Rows without the one that opens the table."""


class MoneyEvents:
    """The export; all methods raise ``DatabaseAway`` and ``DatabaseBusy``."""

    def __init__(self, journal: Journal, operators: Operators) -> None:
        self._journal = journal
        self._operators = operators

    async def of(
        self, table_ids: Sequence[str] = (), since_ms: int = 0
    ) -> AsyncIterator[MoneyEvent]:
        """The money events of these tables, as the requests that the wallet is sent.

        Where none are named: of all that have something left to do or were made since. A table
        that this version cannot read gives one message without a request, unless it was voided:
        then what can be read, and what the wallet was told past the journal.
        """
        all_voided = await self._operators.all_voided()
        async for table_id in self._table_ids(table_ids, since_ms):
            async for event in self._of_table(table_id, all_voided.get(table_id)):
                yield event

    async def _table_ids(self, named: Sequence[str], since_ms: int) -> AsyncIterator[str]:
        page = list(named) or await self._journal.table_ids("", _PAGE, since_ms)
        while page:
            for table_id in page:
                yield table_id
            page = [] if named else await self._journal.table_ids(page[-1], _PAGE, since_ms)

    async def _of_table(self, table_id: str, voided: Voided | None) -> AsyncIterator[MoneyEvent]:
        told = (await self._journal.cursors(table_id)).get(WalletSink.name, 0)
        try:
            rows = await self._rows(table_id, is_voided=voided is not None)
            found = list(_events(rows, told))
        except (DecodeError, UndecodableMessage, NeverOpened) as error:
            _log.error("money_events_unreadable", table_id=table_id, error=str(error))
            yield MoneyEvent(table_id=table_id)
            return
        for event in found:
            yield event
        if voided is not None:
            for call in void_calls(table_id, voided):
                event = MoneyEvent(table_id=table_id, is_told=voided.is_done)
                _put(event, call)
                yield event

    async def _rows(self, table_id: str, *, is_voided: bool) -> list[Row]:
        if is_voided:
            return list(readable(await self._journal.stored_rows(table_id)))
        return await self._journal.rows(table_id)


def _events(rows: Sequence[Row], told: int) -> Iterator[MoneyEvent]:
    config = None
    for row in rows:
        opened = next((each for each in row.events if isinstance(each, e.TableOpened)), None)
        config = opened.config if opened else config
        if config is None:
            raise NeverOpened(f"row {row.seq} is of a table that never opened")
        for call in wallet_calls(config, row):
            event = MoneyEvent(table_id=config.table_id, seq=row.seq, is_told=row.seq <= told)
            _put(event, call)
            yield event


def _put(event: MoneyEvent, call: WalletCall) -> None:
    match call:
        case wallet_pb2.HoldStakeRequest():
            event.hold_stake.CopyFrom(call)
        case wallet_pb2.VoidHoldRequest():
            event.void_hold.CopyFrom(call)
        case wallet_pb2.StartMatchRequest():
            event.start_match.CopyFrom(call)
        case wallet_pb2.ForfeitSeatRequest():
            event.forfeit_seat.CopyFrom(call)
        case wallet_pb2.SettleMatchRequest():
            event.settle_match.CopyFrom(call)
        case wallet_pb2.VoidMatchRequest():
            event.void_match.CopyFrom(call)
        case wallet_pb2.CloseTableRequest():
            event.close_table.CopyFrom(call)
        case _:
            assert_never(call)

"""Every event that moves chips, out of the journal: what audits compare the wallet's books with."""

from collections.abc import AsyncIterator, Sequence
from typing import Final, assert_never

from okey.api.engine.v1 import engine_pb2
from okey.api.wallet.v1 import wallet_pb2
from okey.table import events as e
from okey_runtime.codec import UndecodableMessage
from okey_runtime.logging import get_logger
from services.engine.journal import Journal
from services.engine.wallet_sink import WalletCall, WalletSink, wallet_calls

_PAGE: Final = 200

_log = get_logger(__name__)

MoneyEvent = engine_pb2.ExportMoneyEventsResponse


async def money_events(
    journal: Journal, table_ids: Sequence[str] = (), since_ms: int = 0
) -> AsyncIterator[MoneyEvent]:
    """The money events of these tables, as the requests that the wallet is sent.

    Where none are named: of all that have something left to do or were made since. A table that
    this version cannot read gives one message without a request.
    """
    if table_ids:
        for table_id in table_ids:
            async for event in _of_table(journal, table_id):
                yield event
        return
    after = ""
    while page := await journal.table_ids(after, _PAGE, since_ms):
        for table_id in page:
            async for event in _of_table(journal, table_id):
                yield event
        after = page[-1]


async def _of_table(journal: Journal, table_id: str) -> AsyncIterator[MoneyEvent]:
    told = (await journal.cursors(table_id)).get(WalletSink.name, 0)
    try:
        rows = await journal.rows(table_id)
    except UndecodableMessage as error:
        _log.error("money_events_unreadable", table_id=table_id, error=str(error))
        yield MoneyEvent(table_id=table_id)
        return
    config = None
    for row in rows:
        opened = next((each for each in row.events if isinstance(each, e.TableOpened)), None)
        config = opened.config if opened else config
        if config is None:
            _log.error("money_events_unreadable", table_id=table_id, error="it never opened")
            yield MoneyEvent(table_id=table_id)
            return
        for call in wallet_calls(config, row):
            event = MoneyEvent(table_id=table_id, seq=row.seq, is_told=row.seq <= told)
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

"""``okeyctl tables``: the running tables as text, as a spectator sees them."""

from collections.abc import AsyncIterator
from typing import Final

from okey.api.engine.v1 import engine_pb2, engine_pb2_grpc, table_pb2
from okey_client import OkeyClient
from okey_runtime.service_token import AUTHORIZATION
from services.okeyctl.reach import Reach

_TIMEOUT_S: Final = 10.0


async def list_tables(engine: Reach) -> AsyncIterator[engine_pb2.TableSummary]:
    """Every table that is not closed, page after page."""
    request = engine_pb2.ListTablesRequest()
    async with engine.open() as channel:
        stub = engine_pb2_grpc.OperatorServiceStub(channel)
        while True:
            page = await stub.ListTables(request, timeout=_TIMEOUT_S)
            for table in page.tables:
                yield table
            if not page.next_page_token:
                return
            request.page_token = page.next_page_token


async def show_table(engine: Reach, table_id: str, invite: str = "") -> table_pb2.TableView:
    """One table as it is now."""
    async with open_client(engine) as client:
        return await client.table(table_id, invite).get()


async def watch_table(
    engine: Reach, table_id: str, invite: str = ""
) -> AsyncIterator[table_pb2.TableView]:
    """One table after each change, until it closes."""
    async with open_client(engine) as client:
        async for change in client.table(table_id, invite).follow(adds_nonces=False):
            yield change.view


def open_client(engine: Reach) -> OkeyClient:
    """A client of the engine with the operator's token; use it with ``async with``."""

    def bearer() -> str:
        return dict(engine.token())[AUTHORIZATION].removeprefix("Bearer ")

    return OkeyClient(
        token_provider=bearer, engine_address=engine.address, security=engine.security
    )

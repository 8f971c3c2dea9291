"""One copy of the engine's list, and pages of it."""

from bisect import bisect_right
from collections.abc import Sequence
from functools import cached_property
from itertools import islice
from typing import Final, Protocol

from okey.api.lobby.v1 import lobby_pb2
from services.lobby.table_filter import Kinds
from services.lobby.table_order import Order, PageToken, Place, order_of, place_of

DEFAULT_PAGE_SIZE: Final = 50
_PAGES_KEPT: Final = 1_000


class Listing:
    """Every open public table as it was at one moment; it is sorted once for each order that
    somebody asks for.
    """

    def __init__(self, tables: Sequence[lobby_pb2.ListedTable], as_of_ms: int) -> None:
        self.tables: Final = tables
        self.as_of_ms: Final = as_of_ms
        # Many players ask for the same page, and watchers ask for theirs again and again.
        self._pages: dict[bytes, lobby_pb2.ListTablesResponse] = {}
        self._kinds = Kinds()
        self._sorted: dict[Order.ValueType, list[tuple[Place, lobby_pb2.ListedTable, int]]] = {}

    def page(self, request: lobby_pb2.ListTablesRequest) -> lobby_pb2.ListTablesResponse:
        """The first tables after the request's page token that pass its filters.

        Raises:
            ListTokenMalformed, ListTokenOfAnotherList: there is no such page.
        """
        asked = request.SerializeToString(deterministic=True)
        known = self._pages.get(asked)
        if known is None:
            known = self._cut(request)
            if len(self._pages) < _PAGES_KEPT:
                self._pages[asked] = known
        return known

    def _cut(self, request: lobby_pb2.ListTablesRequest) -> lobby_pb2.ListTablesResponse:
        size = request.page_size or DEFAULT_PAGE_SIZE
        token = PageToken.of(request)
        in_order = self._in(order_of(request))
        start = 0
        if token is not None:
            start = bisect_right(in_order, token.place, key=lambda each: each[0])
        passing = self._kinds.judged_by(request)
        found = (table for _, table, kind in islice(in_order, start, None) if passing[kind])
        page = list(islice(found, size + 1))
        next_page_token = ""
        if len(page) > size:
            page.pop()
            next_page_token = str(PageToken.after(page[-1], request))
        return lobby_pb2.ListTablesResponse(
            tables=page, next_page_token=next_page_token, as_of_ms=self.as_of_ms
        )

    def _in(self, order: Order.ValueType) -> list[tuple[Place, lobby_pb2.ListedTable, int]]:
        """Places, tables and their kinds."""
        known = self._sorted.get(order)
        if known is None:
            placed = ((place_of(table, order), table, kind) for table, kind in self._by_kind)
            known = self._sorted[order] = sorted(placed, key=lambda each: each[0])
        return known

    @cached_property
    def _by_kind(self) -> list[tuple[lobby_pb2.ListedTable, int]]:
        return [(table, self._kinds.of(table)) for table in self.tables]


class NewestListing(Protocol):
    """Where the newest copy comes from."""

    async def newest(self) -> Listing:
        """The newest copy.

        Raises:
            TableListUnavailable: there is none.
        """
        ...

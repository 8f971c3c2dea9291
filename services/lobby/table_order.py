"""In which order tables are listed, and where in it a page ended."""

import base64
import hashlib
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final, Self

from okey.api.lobby.v1 import lobby_pb2
from okey.errors import InvalidInput

Order = lobby_pb2.TableOrder

_TOKEN: Final = re.compile(r"([0-9a-f]{16})\.(-?\d{1,15})\.(-?\d{1,15})\.([a-z0-9]{26})", re.ASCII)


class ListTokenMalformed(InvalidInput):
    """No list gives such a page token."""

    reason = "LIST_TOKEN_MALFORMED"


class ListTokenOfAnotherList(InvalidInput):
    """The page token is of a list with other filters or in another order."""

    reason = "LIST_TOKEN_OF_ANOTHER_LIST"


Place = tuple[int, int, str]
"""Where a table stands in an order: by what is asked for, then the newest first, then by id."""


def free_seats(table: lobby_pb2.ListedTable) -> int:
    """How many seats are free."""
    return table.terms.seat_count - len(table.taken_seats)


def _soonest(table: lobby_pb2.ListedTable) -> int:
    # No table has more seats than this.
    return free_seats(table) if table.is_joinable else 100


_FIRST: Final[Mapping[Order.ValueType, Callable[[lobby_pb2.ListedTable], int]]] = {
    Order.TABLE_ORDER_NEWEST: lambda _: 0,
    Order.TABLE_ORDER_LOWEST_STAKE: lambda table: table.terms.stake,
    Order.TABLE_ORDER_HIGHEST_STAKE: lambda table: -table.terms.stake,
    Order.TABLE_ORDER_LARGEST_KASA: lambda table: -table.kasa,
    Order.TABLE_ORDER_SOONEST: _soonest,
}


def order_of(request: lobby_pb2.ListTablesRequest) -> Order.ValueType:
    """The order asked for, or the default."""
    return request.order or Order.TABLE_ORDER_NEWEST


def place_of(table: lobby_pb2.ListedTable, order: Order.ValueType) -> Place:
    """The table's place in that order; no two are alike."""
    return _FIRST[order](table), -table.created_ms, table.table_id


@dataclass(frozen=True, slots=True)
class PageToken:
    """The list that a page is of, and the place of the page's last table."""

    list_digest: str
    place: Place

    @classmethod
    def after(cls, table: lobby_pb2.ListedTable, request: lobby_pb2.ListTablesRequest) -> Self:
        """The token of the page that follows this table."""
        return cls(_digest(request), place_of(table, order_of(request)))

    @classmethod
    def of(cls, request: lobby_pb2.ListTablesRequest) -> Self | None:
        """The token that a request brings, None for the first page.

        Raises:
            ListTokenMalformed: it is none.
            ListTokenOfAnotherList: it is another list's.
        """
        if not request.page_token:
            return None
        found = _TOKEN.fullmatch(_plain(request.page_token))
        if found is None:
            raise ListTokenMalformed("page_token is none of ours: send next_page_token as it came")
        digest, first, created, table_id = found.groups()
        if digest != _digest(request):
            raise ListTokenOfAnotherList(
                "page_token is of a list with other filters or in another order: start without one"
            )
        return cls(digest, (int(first), int(created), table_id))

    def __str__(self) -> str:
        """As it is sent."""
        plain = ".".join(map(str, (self.list_digest, *self.place)))
        return base64.urlsafe_b64encode(plain.encode()).decode().rstrip("=")


def _plain(token: str) -> str:
    try:
        return base64.b64decode(token + "=" * (-len(token) % 4), "-_", validate=True).decode()
    except ValueError:  # no base64, or none of a text
        return ""


def _digest(request: lobby_pb2.ListTablesRequest) -> str:
    """Of the list that is asked for, whatever page of it; every page may have its own size."""
    asked = lobby_pb2.ListTablesRequest()
    asked.CopyFrom(request)
    asked.page_token, asked.page_size, asked.order = "", 0, order_of(request)
    content = asked.SerializeToString(deterministic=True)
    return hashlib.sha256(content).hexdigest()[:16]

"""One page of the table list, as a player's filters want it."""

from typing import Final

from okey.api.lobby.v1 import lobby_pb2

DEFAULT_PAGE_SIZE: Final = 50


def page_of(
    copy: lobby_pb2.ListTablesResponse, request: lobby_pb2.ListTablesRequest
) -> lobby_pb2.ListTablesResponse:
    """The first tables after the page token that pass every filter set; ``copy`` is by table id."""
    size = request.page_size or DEFAULT_PAGE_SIZE
    page: list[lobby_pb2.ListedTable] = []
    next_page_token = ""
    for table in copy.tables:
        if table.table_id <= request.page_token or not _passes(table, request):
            continue
        if len(page) == size:
            next_page_token = page[-1].table_id
            break
        page.append(table)
    return lobby_pb2.ListTablesResponse(
        tables=page, next_page_token=next_page_token, as_of_ms=copy.as_of_ms
    )


def _passes(table: lobby_pb2.ListedTable, request: lobby_pb2.ListTablesRequest) -> bool:
    terms = table.terms
    return (
        request.variant in (0, terms.variant)
        and request.mode in (0, terms.mode)
        and request.seat_count in (0, terms.seat_count)
        and request.min_stake <= terms.stake
        and (request.max_stake == 0 or terms.stake <= request.max_stake)
        and (table.is_joinable or not request.only_joinable)
    )

"""Pages of the table list."""

import pytest

from okey.api.common.v1 import common_pb2
from okey.api.lobby.v1 import lobby_pb2
from services.lobby.table_filter import DEFAULT_PAGE_SIZE, page_of

CANAK, KLASIK = common_pb2.VARIANT_CANAK, common_pb2.VARIANT_KLASIK
NORMAL, ESLI = common_pb2.MODE_NORMAL, common_pb2.MODE_ESLI


def table(
    number: int,
    *,
    variant: common_pb2.Variant.ValueType = CANAK,
    mode: common_pb2.Mode.ValueType = NORMAL,
    seat_count: int = 4,
    stake: int = 50,
    is_joinable: bool = True,
) -> lobby_pb2.ListedTable:
    return lobby_pb2.ListedTable(
        table_id=f"{number:026d}",
        terms=lobby_pb2.TableTerms(variant=variant, mode=mode, seat_count=seat_count, stake=stake),
        is_joinable=is_joinable,
    )


MANY = [
    table(0),
    table(1, variant=KLASIK),
    table(2, mode=ESLI),
    table(3, seat_count=2),
    table(4, stake=1_000),
    table(5, is_joinable=False),
]


def numbers(
    request: lobby_pb2.ListTablesRequest, tables: list[lobby_pb2.ListedTable] = MANY
) -> list[int]:
    copy = lobby_pb2.ListTablesResponse(tables=tables, as_of_ms=7)
    return [int(found.table_id) for found in page_of(copy, request).tables]


Request = lobby_pb2.ListTablesRequest


@pytest.mark.parametrize(
    ("request_", "expected"),
    [
        (Request(), [0, 1, 2, 3, 4, 5]),
        (Request(variant=KLASIK), [1]),
        (Request(mode=ESLI), [2]),
        (Request(seat_count=2), [3]),
        (Request(min_stake=51), [4]),
        (Request(max_stake=999), [0, 1, 2, 3, 5]),
        (Request(min_stake=50, max_stake=50, seat_count=4, variant=CANAK), [0, 2, 5]),
        (Request(only_joinable=True), [0, 1, 2, 3, 4]),
    ],
)
def test_a_filter_that_is_set_leaves_only_what_passes(
    request_: lobby_pb2.ListTablesRequest, expected: list[int]
) -> None:
    assert numbers(request_) == expected


def test_pages_follow_one_another_without_gap_or_repetition() -> None:
    copy = lobby_pb2.ListTablesResponse(tables=[table(n) for n in range(7)], as_of_ms=7)
    token, seen, sizes = "", [], []
    while True:
        page = page_of(copy, Request(page_size=3, page_token=token))
        seen += [int(found.table_id) for found in page.tables]
        sizes.append(len(page.tables))
        assert page.as_of_ms == 7
        token = page.next_page_token
        if not token:
            break
    assert (seen, sizes) == (list(range(7)), [3, 3, 1])


def test_a_page_that_ends_with_the_list_is_the_last() -> None:
    copy = lobby_pb2.ListTablesResponse(tables=[table(n) for n in range(3)])
    assert page_of(copy, Request(page_size=3)).next_page_token == ""


def test_a_table_that_closed_does_not_break_the_paging() -> None:
    """The token is the last table shown, which may be gone by the next page."""
    rest = [table(n) for n in (0, 1, 3)]
    assert numbers(Request(page_token=f"{2:026d}"), rest) == [3]


def test_the_default_page_has_fifty_tables() -> None:
    assert len(numbers(Request(), [table(n) for n in range(60)])) == DEFAULT_PAGE_SIZE == 50

"""Filters of the table list: one that is not set lets every table through."""

import pytest

from okey.api.lobby.v1 import lobby_pb2
from okey_runtime.errors import InvalidField
from okey_runtime.validation import check_message
from services.lobby.listing import Listing
from services.lobby.table_filter import Kinds
from tests.unit.lobby.listed_tables import CANAK, ESLI, KLASIK, number_of, table

Request = lobby_pb2.ListTablesRequest

MANY = [
    table(0),
    table(1, variant=KLASIK, start_points=20),
    table(2, mode=ESLI),
    table(3, seat_count=2),
    table(4, stake=1_000),
    table(5, is_joinable=False),
    table(6, turn_timeout_ms=15_000),
    table(7, kasa=40),
    table(8, house_fill_after_ms=5_000),
]


@pytest.mark.parametrize(
    ("request_", "expected"),
    [
        (Request(), [0, 1, 2, 3, 4, 5, 6, 7, 8]),
        (Request(variant=KLASIK), [1]),
        (Request(mode=ESLI), [2]),
        (Request(seat_count=2), [3]),
        (Request(min_stake=51), [4]),
        (Request(max_stake=999), [0, 1, 2, 3, 5, 6, 7, 8]),
        (Request(min_stake=1_000, max_stake=1_000), [4]),
        (Request(only_joinable=True), [0, 1, 2, 3, 4, 6, 7, 8]),
        (Request(min_turn_timeout_ms=15_001), [0, 1, 2, 3, 4, 5, 7, 8]),
        (Request(max_turn_timeout_ms=59_999), [6]),
        (Request(start_points=20), [1]),
        (Request(start_points=10), []),
        (Request(only_with_kasa=True), [7]),
        (Request(without_house_fill=True), [0, 1, 2, 3, 4, 5, 6, 7]),
        (Request(variant=CANAK, seat_count=4, max_stake=50, only_with_kasa=True), [7]),
    ],
)
def test_a_filter_that_is_set_leaves_only_what_passes(
    request_: Request, expected: list[int]
) -> None:
    listed = Listing(MANY, 7).page(request_).tables
    assert [number_of(each) for each in listed] == expected


def test_tables_that_no_filter_tells_apart_are_judged_once() -> None:
    """Of 10,000 tables for the same a request in vain looks at one."""
    kinds = Kinds()
    numbers = [
        kinds.of(table(n, taken=n % 4, kasa=1 + n, house_fill_after_ms=1 + n, created_ms=n))
        for n in range(10_000)
    ]
    verdicts = kinds.judged_by(Request(min_stake=51))
    assert not any(verdicts[number] for number in numbers)
    assert len(verdicts) == 1


def test_tables_that_a_filter_tells_apart_are_of_different_kinds() -> None:
    kinds = Kinds()
    assert [kinds.of(each) for each in MANY] == list(range(len(MANY)))


def test_a_watched_list_is_its_first_page() -> None:
    watch = lobby_pb2.WatchTablesRequest(tables=Request(page_token="x"))
    with pytest.raises(InvalidField, match="first page is watched"):
        check_message(watch)


@pytest.mark.parametrize(
    ("request_", "field"),
    [
        (Request(min_stake=100, max_stake=99), "max_stake"),
        (Request(min_turn_timeout_ms=2, max_turn_timeout_ms=1), "max_turn_timeout_ms"),
        (Request(page_size=201), "page_size"),
        (Request(page_size=-1), "page_size"),
        (Request(page_token="x" * 257), "page_token"),
    ],
)
def test_limits_that_let_nothing_through_are_a_mistake(request_: Request, field: str) -> None:
    with pytest.raises(InvalidField) as caught:
        check_message(request_)
    assert [violation.field for violation in caught.value.violations] == [field]

"""Pages of the table list: in every order, without gap or repetition."""

import base64

import pytest
from hypothesis import given
from hypothesis import strategies as st

from okey.api.lobby.v1 import lobby_pb2
from services.lobby.listing import DEFAULT_PAGE_SIZE, Listing
from services.lobby.table_order import (
    ListTokenMalformed,
    ListTokenOfAnotherList,
    Order,
    PageToken,
    place_of,
)
from tests.unit.lobby.listed_tables import KLASIK, number_of, table

Request = lobby_pb2.ListTablesRequest
ORDERS = [order for order in Order.values() if order]


def numbers(page: lobby_pb2.ListTablesResponse) -> list[int]:
    return [number_of(each) for each in page.tables]


@pytest.mark.parametrize(
    ("order", "expected"),
    [
        (Order.TABLE_ORDER_UNSPECIFIED, [3, 2, 1, 0]),
        (Order.TABLE_ORDER_NEWEST, [3, 2, 1, 0]),
        (Order.TABLE_ORDER_LOWEST_STAKE, [3, 1, 0, 2]),
        (Order.TABLE_ORDER_HIGHEST_STAKE, [2, 0, 3, 1]),
        (Order.TABLE_ORDER_LARGEST_KASA, [1, 3, 2, 0]),
        (Order.TABLE_ORDER_SOONEST, [1, 0, 3, 2]),
    ],
)
def test_tables_stand_in_the_order_asked_for(order: Order.ValueType, expected: list[int]) -> None:
    """Within it the newest first; a table that cannot be joined never starts soon."""
    tables = [
        table(0, created_ms=10, stake=100, taken=2),
        table(1, created_ms=20, kasa=7, taken=3),
        table(2, created_ms=30, stake=200, taken=3, is_joinable=False),
        table(3, created_ms=40),
    ]
    assert numbers(Listing(tables, 7).page(Request(order=order))) == expected


@given(
    st.lists(
        st.tuples(st.integers(0, 3), st.integers(0, 3), st.integers(0, 3), st.booleans()),
        max_size=30,
    ),
    st.sampled_from(ORDERS),
    st.integers(1, 7),
)
def test_pages_follow_one_another_without_gap_or_repetition(
    shapes: list[tuple[int, int, int, bool]], order: Order.ValueType, size: int
) -> None:
    tables = [
        table(n, stake=50 + stake, kasa=kasa, created_ms=made, is_joinable=is_joinable)
        for n, (stake, kasa, made, is_joinable) in enumerate(shapes)
    ]
    listing = Listing(tables, 7)
    request = Request(order=order, page_size=size, only_joinable=True)
    seen: list[lobby_pb2.ListedTable] = []
    while True:
        page = listing.page(request)
        seen += page.tables
        assert page.as_of_ms == 7
        assert len(page.tables) == size or not page.next_page_token
        if not page.next_page_token:
            break
        request.page_token = page.next_page_token
    joinable = [each for each in tables if each.is_joinable]
    assert seen == sorted(joinable, key=lambda each: place_of(each, order))


def test_a_page_that_ends_with_the_list_is_the_last() -> None:
    listing = Listing([table(n) for n in range(3)], 7)
    assert listing.page(Request(page_size=3)).next_page_token == ""


def test_a_walk_goes_on_where_it_was_though_tables_come_and_go() -> None:
    """The table that the page ended with may be gone, and newer ones stand before it."""
    old = Listing([table(n, created_ms=n) for n in range(6)], 7)
    first = old.page(Request(page_size=3))
    assert numbers(first) == [5, 4, 3]
    now = Listing([table(n, created_ms=n) for n in (9, 8, 4, 2, 1)], 8)
    rest = now.page(Request(page_size=3, page_token=first.next_page_token))
    assert (numbers(rest), rest.as_of_ms) == ([2, 1], 8)


def test_the_pages_of_a_walk_may_differ_in_size() -> None:
    listing = Listing([table(n, created_ms=n) for n in range(4)], 7)
    first = listing.page(Request(page_size=1))
    rest = listing.page(Request(page_size=200, page_token=first.next_page_token))
    assert numbers(rest) == [2, 1, 0]


def test_a_page_is_cut_once_for_all_who_ask_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever is asked for, no more than so many pages of a copy are kept."""
    monkeypatch.setattr("services.lobby.listing._PAGES_KEPT", 1)
    listing = Listing([table(n) for n in range(4)], 7)
    first = listing.page(Request(page_size=2))
    assert listing.page(Request(page_size=2)) is first
    other = listing.page(Request(page_size=3))
    assert listing.page(Request(page_size=3)) is not other
    assert listing.page(Request(page_size=3)) == other


def test_the_default_page_has_fifty_tables() -> None:
    listing = Listing([table(n) for n in range(60)], 7)
    assert len(listing.page(Request()).tables) == DEFAULT_PAGE_SIZE == 50


@pytest.mark.parametrize(
    "other", [Request(variant=KLASIK), Request(order=Order.TABLE_ORDER_LOWEST_STAKE)]
)
def test_a_token_is_its_lists(other: Request) -> None:
    listing = Listing([table(n) for n in range(4)], 7)
    other.page_token = listing.page(Request(page_size=1)).next_page_token
    with pytest.raises(ListTokenOfAnotherList):
        listing.page(other)


def test_the_default_order_named_is_the_same_list() -> None:
    listing = Listing([table(n) for n in range(4)], 7)
    token = listing.page(Request(page_size=1)).next_page_token
    named = Request(order=Order.TABLE_ORDER_NEWEST, page_token=token)
    assert len(listing.page(named).tables) == 3


def in_base64(plain: str) -> str:
    return base64.urlsafe_b64encode(plain.encode()).decode().rstrip("=")


@pytest.mark.parametrize(
    "token",
    [
        "x",
        "!!!!",
        "ä",
        f"{0:026d}",
        in_base64("0123456789abcdef.0.0.short"),
        in_base64(f"0123456789abcdef.0.{'9' * 16}.{0:026d}"),
        in_base64(f"0123456789abcdef.0.0.{0:026d}\n"),
        in_base64(f"0123456789abcdef.٣.0.{0:026d}"),
        base64.urlsafe_b64encode(b"\xff" * 40).decode(),
    ],
)
def test_what_no_list_gave_is_refused(token: str) -> None:
    with pytest.raises(ListTokenMalformed):
        Listing([table(0)], 7).page(Request(page_token=token))


def test_a_token_says_nothing_of_what_it_holds() -> None:
    """It is opaque: neither id nor place can be read off it by eye, and it fits in an address."""
    token = str(PageToken.after(table(12, created_ms=5), Request()))
    assert token.isascii()
    assert token.replace("-", "").replace("_", "").isalnum()
    assert f"{12:026d}" not in token

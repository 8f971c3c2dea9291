"""Who fits whom and which table, found by trying everything: slow, and by no plan."""

from collections.abc import Iterator, Mapping
from itertools import combinations

from okey.rules.variant import Mode
from services.lobby.terms import Terms
from services.lobby.ticket import Ticket
from services.lobby.windows import RatingWindow
from tests.fixtures.match_tables import MemoryTable

Waiting = Mapping[str, Ticket]
Unit = tuple[Ticket, ...]


def units(waiting: Waiting) -> list[Unit]:
    """Players alone, and parties of whom both wait."""
    alone: list[Unit] = [(ticket,) for ticket in waiting.values() if not ticket.partner]
    parties: list[Unit] = [
        (ticket, waiting[ticket.partner])
        for player, ticket in waiting.items()
        if ticket.partner in waiting and player < ticket.partner
    ]
    return alone + parties


def rating_milli(unit: Unit) -> int:
    return sum(ticket.rating_milli for ticket in unit) // len(unit)


def reach_milli(unit: Unit, window: RatingWindow, now_ms: int) -> int:
    """Of the unit's window: it waits as long as the last of it has."""
    return window.reach_milli(now_ms - max(ticket.since_ms for ticket in unit))


def fitting_sets(waiting: Waiting, window: RatingWindow, now_ms: int) -> Iterator[list[str]]:
    """Every set of waiting units that fills a table and lies in the window of one of them."""
    by_terms: dict[Terms, list[Unit]] = {}
    for unit in units(waiting):
        by_terms.setdefault(unit[0].terms, []).append(unit)
    for terms, alike in by_terms.items():
        for number in range(1, terms.seat_count + 1):
            for some in combinations(alike, number):
                if sum(map(len, some)) == terms.seat_count and _fit(some, window, now_ms):
                    yield sorted(ticket.player for unit in some for ticket in unit)


def _fit(some: tuple[Unit, ...], window: RatingWindow, now_ms: int) -> bool:
    ratings = [rating_milli(unit) for unit in some]
    return any(
        all(abs(rating - own) <= reach_milli(unit, window, now_ms) for rating in ratings)
        for unit, own in zip(some, ratings, strict=True)
    )


def fits_table(
    unit: Unit,
    table: MemoryTable,
    ratings: Mapping[str, int],
    window: RatingWindow,
    now_ms: int,
) -> bool:
    """Whether the unit could sit down there: same terms, seats, people in its window (O2, W5)."""
    free = set(range(table.terms.seat_count)) - table.players.keys()
    sides = ({0, 2}, {1, 3}) if table.terms.mode is Mode.ESLI else ()
    has_seats = bool(free) if len(unit) == 1 else any(side <= free for side in sides)
    takes_bots = all(ticket.house_fill_after_ms for ticket in unit)
    reach = reach_milli(unit, window, now_ms)
    return (
        unit[0].terms == table.terms
        and has_seats
        and (takes_bots or not table.house_fill_after_ms)
        and all(abs(ratings[p] - rating_milli(unit)) <= reach for p in table.players.values())
    )

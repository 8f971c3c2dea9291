"""Who takes which seat: in Eşli partners sit opposite (O2), and the sides are as even as they can
be.
"""

from collections.abc import Sequence
from itertools import combinations
from typing import Final

from okey.rules.variant import Mode
from services.lobby.waiting import PARTY_SIZE, Unit, Waiting

SIDES: Final = ((0, 2), (1, 3))
"""The seats of either side in Eşli."""


def seats_for(match: Sequence[Unit], mode: Mode) -> list[tuple[Waiting, int]]:
    """Each ticket's seat at a new table; whoever has waited longest takes seat 0."""
    if mode is not Mode.ESLI:
        return [(ticket, seat) for seat, ticket in enumerate(_tickets(match))]
    first, second = _sides(match)
    seated = zip((*first, *second), (*SIDES[0][: len(first)], *SIDES[1]), strict=False)
    return list(seated)


def _sides(match: Sequence[Unit]) -> tuple[list[Waiting], list[Waiting]]:
    """The longest waiting unit's side and the other one; the last difference in rating counts."""
    eldest, *others = match
    if eldest.size == PARTY_SIZE:
        return list(eldest.tickets), _tickets(others)
    party = [unit for unit in others if unit.size == PARTY_SIZE]
    if party:
        alone = [unit for unit in others if unit.size < PARTY_SIZE]
        return [*eldest.tickets, *_tickets(alone)], list(party[0].tickets)
    tickets = _tickets(match)
    if len(tickets) <= PARTY_SIZE:
        return tickets[:1], tickets[1:]
    return min(
        (
            ([tickets[0], *mates], [each for each in tickets[1:] if each not in mates])
            for mates in combinations(tickets[1:], PARTY_SIZE - 1)
        ),
        key=lambda sides: abs(_mean(sides[0]) - _mean(sides[1])),
    )


def _tickets(units: Sequence[Unit]) -> list[Waiting]:
    return [ticket for unit in units for ticket in unit.tickets]


def _mean(side: Sequence[Waiting]) -> float:
    return sum(ticket.rating_milli for ticket in side) / len(side)

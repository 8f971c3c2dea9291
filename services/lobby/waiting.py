"""What the matchmaker sees of the tickets that wait for the same terms."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Final

PARTY_SIZE: Final = 2
"""Who plays together in Eşli (O2)."""


@dataclass(frozen=True, slots=True)
class Waiting:
    """One waiting ticket whose client was heard of a moment ago.

    ``order`` counts arrivals; ``since_ms`` is when it could first be matched: with its arrival, or
    once its partner was there. ``fill_ms`` is the wait after which bots may take the other seats, 0
    for never (W5). ``avoided`` is a table that takes this player no more, or empty.
    """

    player: str
    ticket_id: str
    display_name: str
    order: int
    rating_milli: int
    since_ms: int
    partner: str = ""
    fill_ms: int = 0
    avoided: str = ""


@dataclass(frozen=True)
class Unit:
    """Who is matched together or not at all: one player, or the two of a party."""

    tickets: tuple[Waiting, ...]

    @property
    def size(self) -> int:
        """How many seats it needs."""
        return len(self.tickets)

    @cached_property
    def rating_milli(self) -> int:
        """Its rating; of a party the mean."""
        return sum(ticket.rating_milli for ticket in self.tickets) // self.size

    @cached_property
    def order(self) -> int:
        """Its place in the order of arrival: that of its first ticket."""
        return min(ticket.order for ticket in self.tickets)

    @cached_property
    def since_ms(self) -> int:
        """Since when it can be matched."""
        return max(ticket.since_ms for ticket in self.tickets)

    @cached_property
    def fill_ms(self) -> int:
        """The wait after which bots may take the other seats, 0 for never; a party must agree."""
        waits = [ticket.fill_ms for ticket in self.tickets]
        return max(waits) if all(waits) else 0


def units_of(tickets: Iterable[Waiting]) -> list[Unit]:
    """The units in order of arrival; a ticket whose partner is not among them is left out."""
    by_player: Mapping[str, Waiting] = {ticket.player: ticket for ticket in tickets}
    units: list[Unit] = []
    for ticket in by_player.values():
        if not ticket.partner:
            units.append(Unit((ticket,)))
            continue
        partner = by_player.get(ticket.partner)
        is_mutual = partner is not None and partner.partner == ticket.player
        # Each party once: with the one of the two who came first.
        if partner is not None and is_mutual and ticket.order < partner.order:
            units.append(Unit((ticket, partner)))
    return sorted(units, key=lambda unit: unit.order)

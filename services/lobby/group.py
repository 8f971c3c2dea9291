"""A group: tickets that are seated together or not at all, and what became of each."""

import json
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

from services.lobby.terms import Terms
from services.lobby.ticket import TicketState
from services.lobby.waiting import Waiting


@dataclass(frozen=True, slots=True)
class Member:
    """One ticket of a group, the seat that its player is to take, and the name shown there."""

    player: str
    ticket_id: str
    display_name: str
    seat: int


@dataclass(frozen=True, slots=True)
class Group:
    """Who is seated together: at ``table_id``, or at a new table that the first member opens.

    Every replica that takes the group up does the same, with the same request ids; so it does not
    matter how often one dies over it.
    """

    group_id: str
    terms: Terms
    members: tuple[Member, ...]
    table_id: str = ""
    house_fill_after_ms: int = 0

    def to_json(self) -> str:
        """For Redis; ``from_json`` reads it back."""
        seats = [[m.player, m.ticket_id, m.display_name, m.seat] for m in self.members]
        return json.dumps([self.terms.bucket, seats, self.table_id, self.house_fill_after_ms])

    @classmethod
    def from_json(cls, group_id: str, text: str | bytes) -> Self:
        """The group that ``to_json`` wrote."""
        bucket, seats, table_id, fill_ms = json.loads(text)
        members = tuple(Member(*each) for each in seats)
        return cls(group_id, Terms.from_bucket(bucket), members, table_id, fill_ms)


def new_group_id() -> str:
    """An id that no other group has, on any replica."""
    return secrets.token_hex(12)


def group_of(
    group_id: str,
    terms: Terms,
    seated: Sequence[tuple[Waiting, int]],
    table_id: str = "",
    house_fill_after_ms: int = 0,
) -> Group:
    """A group of waiting tickets, each with its seat."""
    members = tuple(
        Member(ticket.player, ticket.ticket_id, ticket.display_name, seat)
        for ticket, seat in seated
    )
    return Group(group_id, terms, members, table_id, house_fill_after_ms)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What becomes of one ticket: SEATED at the table and seat, DROPPED or CANCELLED for a reason,
    EXPIRED, or WAITING again in its old place; then ``table_id`` is one to keep it away from.
    """

    member: Member
    state: TicketState
    table_id: str = ""
    seat: int = 0
    reason: str = ""


Verdict = tuple[Outcome, ...]
"""One outcome for each member of a group."""


def all_wait(group: Group, avoided: str = "") -> Verdict:
    """Every ticket goes back to its place; ``avoided`` is a table to keep them away from."""
    return tuple(Outcome(member, TicketState.WAITING, avoided) for member in group.members)


def verdict_to_json(verdict: Verdict) -> str:
    """For Redis; ``verdict_from_json`` reads it back."""
    return json.dumps(
        [[o.member.player, o.state.value, o.table_id, o.seat, o.reason] for o in verdict]
    )


def verdict_from_json(group: Group, text: str | bytes) -> Verdict:
    """The verdict on the group's members that ``verdict_to_json`` wrote."""
    members = {member.player: member for member in group.members}
    return tuple(
        Outcome(members[player], TicketState(state), table_id, seat, reason)
        for player, state, table_id, seat, reason in json.loads(text)
    )


@dataclass(frozen=True, slots=True)
class Claim:
    """A group in one replica's hands.

    ``attempt`` counts who has had it; only the newest may end it. The lease ends at
    ``lease_ends_ms`` unless it is renewed, which it is until ``turn_ends_ms``. At ``quiet_ms``
    nothing is under way any more that earlier attempts have sent. ``silent`` are the players whose
    clients were heard of no more. ``verdict`` is what an earlier attempt had decided before it took
    seats back; then the group names its table.
    """

    group: Group
    attempt: int
    lease_ends_ms: int
    turn_ends_ms: int
    quiet_ms: int = 0
    silent: frozenset[str] = frozenset()
    verdict: Verdict = ()

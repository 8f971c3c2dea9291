"""Seating a group: everybody sits and has paid, or nobody does (M2).

What can go wrong, and what becomes of it:

- One is refused, as for too few chips: that ticket drops out with the reason. The others give their
  seats back and keep their places in the queue.
- No answer: the same is asked again, with the same request ids, by this replica and after its lease
  by another one, at once. So nobody gets two seats, and a table is made once.
- The decision to take seats back is noted before the first one is: whoever goes on after a crash
  takes back the rest and gives everybody the same outcome.
- What a dead replica has sent may arrive while another one goes on. Then seats that are taken by
  the same requests are as good as ever; but nobody is sent back before that can be no more.
"""

import asyncio
from dataclasses import dataclass, replace
from typing import Final

from okey_runtime.clock import Clock
from okey_runtime.logging import get_logger
from services.lobby.engine_calls import CALL_MS
from services.lobby.group import Claim, Member, Outcome, Verdict
from services.lobby.group_store import GroupStore
from services.lobby.match_tables import (
    Look,
    MatchTables,
    NoRoom,
    Refused,
    SeatAnswer,
    Sits,
    SitsElsewhere,
    Unknown,
)
from services.lobby.ticket import TicketState

PAUSE_MS: Final = 500
"""How long a group waits for the next try where the engine has answered, but not in full."""
LEFT_TABLE: Final = "LEFT_TABLE"
"""The reason of a ticket whose player left the table while the others were being seated."""

_log = get_logger(__name__)


class Undecided(Exception):
    """Nobody can say yet what becomes of the group; another try after ``wait_ms`` will tell."""

    wait_ms = PAUSE_MS


class NotQuiet(Undecided):
    """What a dead replica has sent may still arrive and seat somebody."""


class EngineAway(Undecided):
    """The engine gave no answer, or has no room: it should be left alone for a moment."""


class NoAnswer(EngineAway):
    """What was asked may still be on its way; until that is over nothing else must be decided."""

    wait_ms = CALL_MS


class ClaimLost(Exception):
    """The lease has ended, or another replica has taken the group up."""


@dataclass(frozen=True, slots=True)
class Settled:
    """A group's outcome, and how long those waited who were seated."""

    verdict: Verdict
    waits_ms: tuple[int, ...]


class Seating:
    """Seats claimed groups; ``rests_until_ms`` (monotonic) is when the engine, which was away or
    had no room, should be asked for new seats again.
    """

    def __init__(self, groups: GroupStore, tables: MatchTables, clock: Clock) -> None:
        self._groups = groups
        self._tables = tables
        self._clock = clock
        self.rests_until_ms = 0

    async def seat(self, claim: Claim) -> Settled | None:
        """What became of the group, once it is stored; None where others are left to find out.

        Raises:
            QuickMatchUnavailable: Redis is away; the group stays for whoever takes it up.
        """
        with self._groups.leases.held(claim):
            return await self._seat(claim)

    async def _seat(self, claim: Claim) -> Settled | None:
        is_first = claim.attempt == 1
        while True:
            attempt = _Attempt(claim, is_first, self._groups, self._tables, self._clock)
            try:
                verdict = await attempt.decide()
                waits_ms = await self._groups.settle(claim, verdict)
            except ClaimLost:
                _log.info("seating_left_to_others", group_id=claim.group.group_id)
                return None
            except Undecided as why:
                _log.info("seating_undecided", group_id=claim.group.group_id, error=str(why))
                if isinstance(why, EngineAway):
                    self._rest()
                claim, is_first = attempt.claim, False
                await self._clock.sleep_until_ms(self._clock.monotonic_ms() + why.wait_ms)
                continue
            if attempt.is_engine_full:
                self._rest()
            return None if waits_ms is None else Settled(verdict, tuple(waits_ms))

    def _rest(self) -> None:
        self.rests_until_ms = self._clock.monotonic_ms() + 2 * PAUSE_MS


class _Attempt:
    """One try to seat a group; ``is_first`` where nothing can have been done for it before."""

    def __init__(
        self, claim: Claim, is_first: bool, groups: GroupStore, tables: MatchTables, clock: Clock
    ) -> None:
        self.claim = claim
        """The claim, with the verdict once that is noted: it binds every later try."""
        self._group = claim.group
        self._is_first = is_first
        self._groups = groups
        self._tables = tables
        self._clock = clock
        self._request_id = f"quick-{claim.group.group_id}"
        self._table_id = claim.group.table_id
        self._answers: dict[Member, SeatAnswer] = {}
        self._is_quiet = clock.now_ms() >= claim.quiet_ms
        self._sat_by_itself = False
        self.is_engine_full = False

    async def decide(self) -> Verdict:
        """The group's outcome, once it is certain and every seat is as it says.

        Raises:
            Undecided, ClaimLost, QuickMatchUnavailable.
        """
        if self.claim.verdict:
            self._demand_quiet()
            return await self._take_back(self.claim.verdict)
        if not self._table_id:
            await self._open_table()
        if not self._table_id:
            self._demand_quiet()
            return await self._outcomes()
        if not self.claim.silent:
            await self._take_seats()
            if not self._is_certain():
                await self._look_who_sits()
        if self._sat_by_itself or len(self._sitting()) < len(self._group.members):
            self._demand_quiet()
        verdict = await self._outcomes()
        is_seated = all(outcome.state is TicketState.SEATED for outcome in verdict)
        nobody_sits = self._is_first and not self._sitting()
        return verdict if is_seated or nobody_sits else await self._take_back(verdict)

    async def _open_table(self) -> None:
        opener = self._group.members[0]
        self._demand_time()
        answer = await self._tables.open(
            self._request_id,
            opener.player,
            opener.display_name,
            self._group.terms,
            self._group.house_fill_after_ms,
        )
        self._take_in({opener: answer})
        if isinstance(answer, NoRoom) and answer.is_engine and not self._is_first:
            raise EngineAway(f"{answer.reason}, and an earlier try may have made the table")
        if isinstance(answer, Sits):
            self._table_id = answer.table_id
            await self._show_seats()

    async def _take_seats(self) -> None:
        takers = [member for member in self._group.members if member not in self._answers]
        self._demand_time()
        calls = [
            self._tables.take(
                self._table_id,
                self._request_id,
                member.player,
                member.display_name,
                member.seat,
            )
            for member in takers
        ]
        answers = await asyncio.gather(*calls)
        self._take_in(dict(zip(takers, answers, strict=True)))

    def _take_in(self, answers: dict[Member, SeatAnswer]) -> None:
        self._answers |= answers
        for member, answer in answers.items():
            if isinstance(answer, Unknown):
                raise NoAnswer(answer.why)
            if isinstance(answer, SitsElsewhere) and answer.table_id == self._table_id:
                # It has sat down here by itself; what about its stake, a look will tell.
                self._answers[member] = Sits(self._table_id, member.seat, is_paid=False)
                self._sat_by_itself = True
            self.is_engine_full |= isinstance(answer, NoRoom) and answer.is_engine

    def _is_certain(self) -> bool:
        """Whether nothing has to be looked up: all was new, and the wallet has said its word."""
        answers = self._answers.values()
        return self._is_first and all(
            not isinstance(answer, Sits) or answer.is_paid for answer in answers
        )

    async def _look_who_sits(self) -> None:
        """Put what the table shows in the place of what was answered, which may be an old answer.

        Raises:
            Undecided: the wallet is still being asked for a stake, and nobody was refused.
        """
        look = await self._look(self._table_id)
        for member in self._sitting():
            chair = look.chair_of(member.player) if look else None
            if chair is not None:
                self._answers[member] = Sits(self._table_id, chair.seat, chair.is_paid)
            elif look is not None:
                self._answers[member] = Refused(LEFT_TABLE)
            else:
                self._answers[member] = NoRoom("TABLE_CLOSED")
        unpaid = [
            member
            for member, answer in self._answers.items()
            if isinstance(answer, Sits) and not answer.is_paid
        ]
        if unpaid and len(self._sitting()) == len(self._group.members):
            await self._show_seats()
            raise Undecided(f"the wallet is still being asked for the stake of {unpaid[0].player}")

    def _sitting(self) -> list[Member]:
        return [member for member, answer in self._answers.items() if isinstance(answer, Sits)]

    async def _show_seats(self) -> None:
        seats = [
            (member.player, answer.table_id, answer.seat)
            for member, answer in self._answers.items()
            if isinstance(answer, Sits)
        ]
        if not await self._groups.note_tables(self.claim, seats):
            raise ClaimLost

    async def _outcomes(self) -> Verdict:
        """What the answers make of the tickets: all of them SEATED, or none at this table."""
        is_whole = len(self._sitting()) == len(self._group.members)
        return tuple([await self._outcome(each, is_whole) for each in self._group.members])

    async def _outcome(self, member: Member, is_whole: bool) -> Outcome:
        if member.player in self.claim.silent:
            return Outcome(member, TicketState.EXPIRED)
        match self._answers.get(member):
            case Sits(table_id, seat) if is_whole:
                return Outcome(member, TicketState.SEATED, table_id, seat)
            case SitsElsewhere():
                return await self._led_back(member)
            case Refused(reason) if reason == LEFT_TABLE:
                return Outcome(member, TicketState.CANCELLED, reason=reason)
            case Refused(reason):
                return Outcome(member, TicketState.DROPPED, reason=reason)
            case NoRoom(is_for_good=True):
                return Outcome(member, TicketState.WAITING, self._table_id)
        return Outcome(member, TicketState.WAITING)

    async def _led_back(self, member: Member) -> Outcome:
        """W3: who sits somewhere is led there, unless it has left meanwhile."""
        self._demand_time()
        sitting = await self._tables.seat_of(member.player)
        if isinstance(sitting, Unknown):
            raise NoAnswer(sitting.why)
        if sitting is None:
            return Outcome(member, TicketState.WAITING)
        return Outcome(member, TicketState.SEATED, sitting.table_id, sitting.seat)

    async def _take_back(self, verdict: Verdict) -> Verdict:
        """Free every seat of the group, and say what became of each: the verdict, but for those
        whose match has begun.
        """
        if not await self._groups.note_verdict(self.claim, self._table_id, verdict):
            raise ClaimLost
        group = replace(self._group, table_id=self._table_id)
        self.claim = replace(self.claim, group=group, verdict=verdict)
        leaving = [
            outcome
            for outcome in verdict
            if outcome.state is not TicketState.SEATED or outcome.table_id == self._table_id
        ]
        self._demand_time()
        calls = [
            self._tables.leave(self._table_id, f"{self._request_id}-back", outcome.member.player)
            for outcome in leaving
        ]
        stayed: dict[Member, Outcome] = {}
        for outcome, answer in zip(leaving, await asyncio.gather(*calls), strict=True):
            if isinstance(answer, Sits):
                stayed[outcome.member] = Outcome(
                    outcome.member, TicketState.SEATED, answer.table_id, answer.seat
                )
            elif isinstance(answer, Unknown):
                raise NoAnswer(answer.why)
        return tuple(stayed.get(outcome.member, outcome) for outcome in verdict)

    async def _look(self, table_id: str) -> Look | None:
        self._demand_time()
        look = await self._tables.look(table_id)
        if isinstance(look, Unknown):
            raise NoAnswer(look.why)
        return look

    def _demand_time(self) -> None:
        """Return if nobody else can have the group: it is over ``CALL_MS`` after the lease, then,
        what is sent now.

        Raises:
            ClaimLost: the lease has ended, by somebody's clock.
        """
        if not self._groups.leases.stands(self.claim):
            raise ClaimLost

    def _demand_quiet(self) -> None:
        """Return if nothing of earlier attempts was under way when this one began.

        Raises:
            NotQuiet: what was found out may not last.
        """
        if not self._is_quiet:
            raise NotQuiet("calls of a replica that died may still be under way")

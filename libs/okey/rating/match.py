"""What rating needs to know of a match: who sat where, who left, and how it ended."""

from dataclasses import dataclass
from enum import IntEnum

from okey.errors import InvalidInput
from okey.rating.standing import Standing
from okey.rules.variant import Mode, Variant


class ContradictoryMatch(InvalidInput):
    """A match or its outcome that no table can produce."""

    reason = "CONTRADICTORY_MATCH"


class Departure(IntEnum):
    """Whether a player left its seat before the match's end.

    EXCUSED is a seat that became the house's without a price, where a house's rule set says so
    (``abandonment_is_forfeit``, U9): no forfeit, but out of the pairings; in Eşli rated with its
    partner all the same, whom its leaving would spare a loss otherwise. The numbers are those of
    ``okey.api.rating.v1.Departure``.
    """

    NONE = 0
    FORFEITED = 1
    EXCUSED = 2


@dataclass(frozen=True, slots=True)
class Participant:
    """A person who sat at the start of a match.

    ``standing`` is the one at the rating of the match; of who gave up it is the one just before the
    forfeit, because its opponents get what a win over *that* player brings (R5).
    """

    standing: Standing
    departure: Departure = Departure.NONE


@dataclass(frozen=True, slots=True)
class RatedMatch:
    """The seats at the start of a match in playing order; None is a house seat (solo, W5).

    ``is_private`` says that its table stood behind an invite code (R6).

    Raises ``ContradictoryMatch`` for a number of seats, a mode or owners that no table has.
    """

    variant: Variant
    mode: Mode
    seats: tuple[Participant | None, ...]
    is_private: bool = False

    def __post_init__(self) -> None:
        if len(self.seats) not in (2, 4):
            raise ContradictoryMatch(f"a match of {len(self.seats)} seats: a table has 2 or 4")
        if self.mode is not Mode.NORMAL and self.variant is not Variant.CANAK:
            raise ContradictoryMatch(
                f"{self.variant.name} {self.mode.name}: modes are Çanak's (K1)"
            )
        if self.mode is Mode.ESLI and len(self.seats) != 4:
            raise ContradictoryMatch(f"Eşli with {len(self.seats)} seats: it needs 4 (O2)")
        people = len(self.seats) - self.seats.count(None)
        if self.mode is Mode.SOLO and people != 1:
            raise ContradictoryMatch(f"solo with {people} people: it is one against AI (O1)")

    def people_left(self) -> dict[int, Standing]:
        """The standings of the people who kept their seats to the end, by seat."""
        return {
            seat: owner.standing
            for seat, owner in enumerate(self.seats)
            if owner is not None and owner.departure is Departure.NONE
        }

    def is_for_people_only(self) -> bool:
        """Whether people sat on every seat at the start; it is unrated otherwise (R4, W5)."""
        return None not in self.seats


@dataclass(frozen=True, slots=True)
class CanakWon:
    """A seat finished in Çanak; in Eşli it won for its partner too (O2)."""

    winner_seat: int


@dataclass(frozen=True, slots=True)
class KlasikWon:
    """A seat won a Klasik match, by its points or by the tie-break (K5, K6); points by seat."""

    winner_seat: int
    remaining_points: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class HouseWon:
    """No person could win any more (M8)."""


@dataclass(frozen=True, slots=True)
class Drawn:
    """Nobody won (Ç7, K10)."""


@dataclass(frozen=True, slots=True)
class Voided:
    """Operators took the match back (M10)."""


Outcome = CanakWon | KlasikWon | HouseWon | Drawn | Voided


def require_outcome_fits(match: RatedMatch, outcome: Outcome) -> None:
    """Raise ``ContradictoryMatch`` unless ``match`` can have ended like that."""
    if not isinstance(outcome, CanakWon | KlasikWon):
        return
    if not 0 <= outcome.winner_seat < len(match.seats):
        raise ContradictoryMatch(
            f"winner_seat {outcome.winner_seat}: the table has seats 0..{len(match.seats) - 1}"
        )
    if isinstance(outcome, CanakWon) is not (match.variant is Variant.CANAK):
        raise ContradictoryMatch(
            f"{type(outcome).__name__} cannot end a {match.variant.name} match"
        )
    if isinstance(outcome, KlasikWon):
        _require_winner_leads(match, outcome)


def _require_winner_leads(match: RatedMatch, outcome: KlasikWon) -> None:
    points = outcome.remaining_points
    if len(points) != len(match.seats):
        raise ContradictoryMatch(
            f"remaining_points {list(points)}: one number a seat, {len(match.seats)}"
        )
    people = match.people_left()
    if outcome.winner_seat not in people:
        return
    best = max(points[seat] for seat in people)
    if points[outcome.winner_seat] < best:
        raise ContradictoryMatch(
            f"seat {outcome.winner_seat} won with {points[outcome.winner_seat]} points while "
            f"a person has {best}: the highest wins (K5)"
        )

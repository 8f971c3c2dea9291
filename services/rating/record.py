"""What the engine reports, and what rating made of it."""

import hashlib
import json
from dataclasses import dataclass
from typing import Any

from okey.errors import AlreadyExists, Refused, Unavailable
from okey.rating import (
    CanakWon,
    ChangeKind,
    ContradictoryMatch,
    Departure,
    Drawn,
    HouseWon,
    KlasikWon,
    Ladder,
    Outcome,
    Sink,
    Voided,
)
from okey.rules.variant import Mode, Variant


class MatchRecordedDifferently(AlreadyExists):
    """The match was recorded with another content; the first one stands."""

    reason = "MATCH_RECORDED_DIFFERENTLY"


class ForfeitRecordedDifferently(AlreadyExists):
    """The player's forfeit of this match was recorded for another seat or variant."""

    reason = "FORFEIT_RECORDED_DIFFERENTLY"


class ForfeitContradicted(Refused):
    """A match and a forfeit of it disagree on who gave up."""

    reason = "FORFEIT_CONTRADICTED"


class RatingRulesUnknown(Unavailable):
    """The match was played by a rule set that this version does not know; a later one will."""

    reason = "RATING_RULES_UNKNOWN"


@dataclass(frozen=True, slots=True)
class RecordedSeat:
    """A person at the start of a match; a house seat is None instead."""

    player_id: str
    departure: Departure


@dataclass(frozen=True, slots=True, kw_only=True)
class MatchRecord:
    """A match that has ended, as the engine tells it.

    Raises ``ContradictoryMatch`` for a player on two seats, or for no people at all.
    """

    table_id: str
    match_id: str
    variant: Variant
    mode: Mode
    seats: tuple[RecordedSeat | None, ...]
    outcome: Outcome
    ended_ms: int
    rules_version: str = ""
    is_private: bool = False

    def __post_init__(self) -> None:
        people = self.people()
        if len(set(people)) != len(people):
            raise ContradictoryMatch(f"players {people}: one sits on two seats of {self.match_id}")
        if not people:
            raise ContradictoryMatch(
                f"match {self.match_id} has no people: there is nobody to rate"
            )

    def people(self) -> list[str]:
        """The players at the start, in seat order."""
        return [seat.player_id for seat in self.seats if seat is not None]

    def owners(self) -> dict[int, str]:
        """The players at the start, by seat."""
        return {seat: owner.player_id for seat, owner in enumerate(self.seats) if owner}

    def quitters(self) -> dict[str, int]:
        """Whose forfeit this match knows of, with the seat."""
        return {
            owner.player_id: seat
            for seat, owner in enumerate(self.seats)
            if owner is not None and owner.departure is Departure.FORFEITED
        }

    def content(self) -> str:
        """What makes it this match, as canonical JSON; the rule set is noted beside it."""
        outcome: dict[str, object] = {"kind": type(self.outcome).__name__}
        if isinstance(self.outcome, CanakWon | KlasikWon):
            outcome["winner_seat"] = self.outcome.winner_seat
        if isinstance(self.outcome, KlasikWon):
            outcome["remaining_points"] = self.outcome.remaining_points
        seats = [seat and [seat.player_id, seat.departure.name] for seat in self.seats]
        # Named only where it is so, as in the records from before it could be.
        private = {"is_private": True} if self.is_private else {}
        return _canonical(
            private
            | {
                "table_id": self.table_id,
                "match_id": self.match_id,
                "variant": self.variant.name,
                "mode": self.mode.name,
                "seats": seats,
                "outcome": outcome,
                "ended_ms": self.ended_ms,
            }
        )

    @classmethod
    def of_content(cls, content: str, ended_ms: int, rules_version: str) -> "MatchRecord":
        """The match that ``content()`` was made of. Raises ``ValueError``, ``KeyError``."""
        found: dict[str, Any] = json.loads(content)
        return cls(
            table_id=found["table_id"],
            match_id=found["match_id"],
            variant=Variant[found["variant"]],
            mode=Mode[found["mode"]],
            seats=tuple(
                seat and RecordedSeat(seat[0], Departure[seat[1]]) for seat in found["seats"]
            ),
            outcome=_outcome_of(found["outcome"]),
            ended_ms=ended_ms,
            rules_version=rules_version,
            is_private=found.get("is_private", False),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ForfeitRecord:
    """A player who gave up a seat during a match."""

    match_id: str
    variant: Variant
    seat: int
    player_id: str
    forfeited_ms: int
    rules_version: str = ""

    def content(self) -> str:
        """What makes it this forfeit, as canonical JSON.

        The time is left out: a match that names a quitter before the forfeit was reported knows
        another one.
        """
        return _canonical(
            {
                "match_id": self.match_id,
                "variant": self.variant.name,
                "seat": self.seat,
                "player_id": self.player_id,
            }
        )

    @classmethod
    def of_content(cls, content: str, forfeited_ms: int, rules_version: str) -> "ForfeitRecord":
        """The forfeit that ``content()`` was made of. Raises ``ValueError``, ``KeyError``."""
        found: dict[str, Any] = json.loads(content)
        return cls(
            match_id=found["match_id"],
            variant=Variant[found["variant"]],
            seat=found["seat"],
            player_id=found["player_id"],
            forfeited_ms=forfeited_ms,
            rules_version=rules_version,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class RatingChanged:
    """One change of one player's rating on one ladder.

    ``rated_matches`` counts it, ``change_no`` numbers the player's changes without a gap;
    ``match_id`` is empty for a soft reset.
    """

    player_id: str
    ladder: Ladder
    season: int
    change_no: int
    kind: ChangeKind
    match_id: str
    rating_before_milli: int
    delta_milli: int
    rated_matches: int
    occurred_ms: int


@dataclass(frozen=True, slots=True)
class SinkAmount:
    """Milli-points that a sink took from a ladder's players, negative if it gave."""

    ladder: Ladder
    sink: Sink
    amount_milli: int


@dataclass(frozen=True, slots=True)
class Recorded:
    """What a match or a forfeit changed."""

    changes: tuple[RatingChanged, ...]
    sinks: tuple[SinkAmount, ...]


def ladders_of(variant: Variant) -> tuple[Ladder, Ladder]:
    """The two ladders on which a match of the variant counts."""
    return (Ladder.CANAK if variant is Variant.CANAK else Ladder.KLASIK), Ladder.OVERALL


def content_hash(content: str) -> str:
    """SHA-256 of a record's content, in hex."""
    return hashlib.sha256(content.encode()).hexdigest()


def _canonical(content: dict[str, object]) -> str:
    return json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def _outcome_of(found: dict[str, Any]) -> Outcome:
    match found["kind"]:
        case "CanakWon":
            return CanakWon(found["winner_seat"])
        case "KlasikWon":
            return KlasikWon(found["winner_seat"], tuple(found["remaining_points"]))
        case "HouseWon":
            return HouseWon()
        case "Drawn":
            return Drawn()
        case "Voided":
            return Voided()
        case unknown:
            raise ValueError(f"outcome {unknown!r} is none that was ever written")

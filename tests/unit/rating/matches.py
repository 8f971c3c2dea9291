"""Short ways to write matches, and strategies that make any of them."""

from hypothesis import strategies as st

from okey.rating import (
    CanakWon,
    Departure,
    Drawn,
    HouseWon,
    KlasikWon,
    Outcome,
    Participant,
    RatedMatch,
    Standing,
)
from okey.rules.variant import Mode, Variant


def player(points: int = 1200, *, matches: int = 0, gave_up: bool = False) -> Participant:
    """A person with a rating in whole points."""
    departure = Departure.FORFEITED if gave_up else Departure.NONE
    return Participant(Standing(points * 1000, matches), departure)


def excused() -> Participant:
    """A person whose seat became the house's without a price."""
    return Participant(Standing(1_200_000, 0), Departure.EXCUSED)


def canak(*seats: Participant | None, mode: Mode = Mode.NORMAL) -> RatedMatch:
    """A Çanak match; None is a house seat."""
    return RatedMatch(Variant.CANAK, mode, seats)


def esli(*seats: Participant | None) -> RatedMatch:
    """An Eşli match: seats 0+2 against 1+3."""
    return canak(*seats, mode=Mode.ESLI)


def klasik(*seats: Participant | None) -> RatedMatch:
    """A Klasik match."""
    return RatedMatch(Variant.KLASIK, Mode.NORMAL, seats)


def _participants(departures: st.SearchStrategy[Departure]) -> st.SearchStrategy[Participant]:
    standing = st.builds(Standing, st.integers(-500_000, 4_000_000), st.integers(0, 40))
    return st.builds(Participant, standing, departures)


@st.composite
def ended_matches(
    draw: st.DrawFn, departures: st.SearchStrategy[Departure] | None = None
) -> tuple[RatedMatch, Outcome]:
    """Any match for people only and any way it can end; ``departures`` says who leaves."""
    leaves = st.sampled_from(Departure) if departures is None else departures
    variant = draw(st.sampled_from(Variant))
    mode = (
        Mode.NORMAL
        if variant is Variant.KLASIK
        else draw(st.sampled_from([Mode.NORMAL, Mode.ESLI]))
    )
    size = 4 if mode is Mode.ESLI else draw(st.sampled_from([2, 4]))
    seats = tuple(draw(_participants(leaves)) for _ in range(size))
    match = RatedMatch(variant, mode, seats)
    winner = draw(st.integers(0, size - 1))
    if variant is Variant.CANAK:
        won: Outcome = CanakWon(winner)
    else:
        points = draw(st.lists(st.integers(-8, 20), min_size=size, max_size=size))
        points[winner] = max(points)
        won = KlasikWon(winner, tuple(points))
    return match, draw(st.sampled_from([won, won, won, HouseWon(), Drawn()]))

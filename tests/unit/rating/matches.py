"""Short ways to write matches, and strategies that make any of them."""

from hypothesis import strategies as st
from okey.rating import (
    CanakWon,
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
    return Participant(Standing(points * 1000, matches), gave_up)


def canak(*seats: Participant | None, mode: Mode = Mode.NORMAL) -> RatedMatch:
    """A Çanak match; None is a house seat."""
    return RatedMatch(Variant.CANAK, mode, seats)


def esli(*seats: Participant | None) -> RatedMatch:
    """An Eşli match: seats 0+2 against 1+3."""
    return canak(*seats, mode=Mode.ESLI)


def klasik(*seats: Participant | None) -> RatedMatch:
    """A Klasik match."""
    return RatedMatch(Variant.KLASIK, Mode.NORMAL, seats)


def _participants(gave_up: st.SearchStrategy[bool]) -> st.SearchStrategy[Participant]:
    standing = st.builds(Standing, st.integers(-500_000, 4_000_000), st.integers(0, 40))
    return st.builds(Participant, standing, gave_up)


@st.composite
def ended_matches(
    draw: st.DrawFn, gave_up: st.SearchStrategy[bool] | None = None
) -> tuple[RatedMatch, Outcome]:
    """Any match for people only and any way it can end; ``gave_up`` says who does."""
    quits = st.booleans() if gave_up is None else gave_up
    variant = draw(st.sampled_from(Variant))
    mode = (
        Mode.NORMAL
        if variant is Variant.KLASIK
        else draw(st.sampled_from([Mode.NORMAL, Mode.ESLI]))
    )
    size = 4 if mode is Mode.ESLI else draw(st.sampled_from([2, 4]))
    seats = tuple(draw(_participants(quits)) for _ in range(size))
    match = RatedMatch(variant, mode, seats)
    winner = draw(st.integers(0, size - 1))
    if variant is Variant.CANAK:
        won: Outcome = CanakWon(winner)
    else:
        points = draw(st.lists(st.integers(-8, 20), min_size=size, max_size=size))
        points[winner] = max(points)
        won = KlasikWon(winner, tuple(points))
    return match, draw(st.sampled_from([won, won, won, HouseWon(), Drawn()]))

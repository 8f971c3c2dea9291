"""Seats: partners sit opposite, and the sides are as even as they can be."""

from okey.rules.variant import Mode
from services.lobby.teams import seats_for
from services.lobby.waiting import Unit
from tests.unit.lobby.queues import alone, party


def seats(*match: Unit, mode: Mode = Mode.ESLI) -> dict[int, str]:
    return {seat: ticket.player for ticket, seat in seats_for(match, mode)}


def test_seats_go_in_order_of_the_match() -> None:
    assert seats(alone("ada", 1), alone("bo", 2), mode=Mode.NORMAL) == {0: "ada", 1: "bo"}


def test_the_best_plays_with_the_weakest() -> None:
    """O2: balanced teams."""
    found = seats(
        alone("good", 1, 1_500),
        alone("fair", 2, 1_300),
        alone("bad", 3, 900),
        alone("so", 4, 1_150),
    )
    assert {found[0], found[2]} == {"good", "bad"}
    assert {found[1], found[3]} == {"fair", "so"}
    assert found[0] == "good"


def test_the_sides_differ_as_little_as_they_can() -> None:
    """O2: not always the best with the weakest."""
    found = seats(
        alone("a", 1, 1_200), alone("b", 2, 1_100), alone("c", 3, 1_000), alone("d", 4, 1_090)
    )
    assert {found[0], found[2]} == {"a", "c"}


def test_partners_sit_opposite_whoever_waited_longest() -> None:
    """O2: partners are 0 and 2, or 1 and 3."""
    pair, other = party("ada", "bo", 1), party("cem", "deniz", 3)
    assert seats(pair, alone("ece", 5), alone("fuat", 6)) == {
        0: "ada",
        2: "bo",
        1: "ece",
        3: "fuat",
    }
    assert seats(alone("ece", 0), pair, alone("fuat", 6)) == {
        0: "ece",
        2: "fuat",
        1: "ada",
        3: "bo",
    }
    assert seats(pair, other) == {0: "ada", 2: "bo", 1: "cem", 3: "deniz"}


def test_with_bots_a_party_stays_together_and_two_alone_play_each_other() -> None:
    """O2, W5: bots take the other seats."""
    assert seats(party("ada", "bo", 1)) == {0: "ada", 2: "bo"}
    assert seats(alone("ece", 0), party("ada", "bo", 1)) == {0: "ece", 1: "ada", 3: "bo"}
    assert seats(alone("ada", 1), alone("bo", 2)) == {0: "ada", 1: "bo"}
    three = seats(alone("ada", 1, 1_500), alone("bo", 2, 1_400), alone("cem", 3, 900))
    assert (three[0], three[2], three[1]) == ("ada", "cem", "bo")

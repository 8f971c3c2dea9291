"""Tickets become units: alone, or the two of a party."""

from services.lobby.waiting import units_of
from tests.unit.lobby.queues import names, waiting


def test_two_partners_are_one_unit_at_the_place_of_the_first() -> None:
    """O2: partners are matched together or not at all."""
    units = units_of(
        [
            waiting("ada", 1, 1_000, partner="cem", waited_ms=100),
            waiting("bo", 2),
            waiting("cem", 3, 1_500, partner="ada", waited_ms=900, fill_ms=5_000),
        ]
    )
    assert [names((unit,)) for unit in units] == [["ada", "cem"], ["bo"]]
    party = units[0]
    assert (party.size, party.order, party.rating_milli) == (2, 1, 1_250_000)
    assert party.since_ms == party.tickets[0].since_ms


def test_a_party_waits_for_bots_only_if_both_do() -> None:
    one = units_of(
        [waiting("ada", 1, partner="bo", fill_ms=6_000), waiting("bo", 2, partner="ada")]
    )
    both = units_of(
        [
            waiting("ada", 1, partner="bo", fill_ms=6_000),
            waiting("bo", 2, partner="ada", fill_ms=9_000),
        ]
    )
    assert (one[0].fill_ms, both[0].fill_ms) == (0, 9_000)


def test_a_ticket_whose_partner_cannot_be_matched_is_left_out() -> None:
    assert units_of([waiting("ada", 1, partner="bo")]) == []
    assert units_of([waiting("ada", 1, partner="bo"), waiting("bo", 2, partner="cem")]) == []

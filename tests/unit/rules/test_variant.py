"""Kinds of table."""

from okey.rules.variant import HOUSE_SEAT_LEVEL, BotLevel, Mode, Variant, partner_of


def test_partners_sit_opposite() -> None:
    """O2: 0+2 and 1+3, each the other's."""
    assert [partner_of(seat) for seat in range(4)] == [2, 3, 0, 1]


def test_house_seats_are_played_by_the_normal_bot() -> None:
    """W4: stand-ins and given-up seats alike."""
    assert HOUSE_SEAT_LEVEL is BotLevel.NORMAL


def test_values_are_those_of_the_wire_and_of_stored_events() -> None:
    """Ç0, O1, O2: a change would break stored tables."""
    assert [(kind.name, kind.value) for kind in (*Variant, *Mode, *BotLevel)] == [
        ("CANAK", 1),
        ("KLASIK", 2),
        ("NORMAL", 1),
        ("SOLO", 2),
        ("ESLI", 3),
        ("EASY", 1),
        ("NORMAL", 2),
        ("STRONG", 3),
    ]

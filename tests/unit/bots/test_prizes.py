"""What a finish pays, as a bot counts it: the same as the wallet and the points do."""

from okey.bots.prizes import prizes
from okey.rules.finish import FinishKind as F
from okey.rules.variant import Mode, Variant
from okey.table.view import TableView
from tests.unit.bots.views import view

RACK = "Y1 Y2 Y3 B5 B6 B7 B8 R4 Y4 K4 K11 K12 K13 K1"


def of(seen: TableView) -> dict[str, float]:
    assert seen.round is not None
    return {finish.name: prize for finish, prize in prizes(seen, seen.round).items()}


def test_canak_pays_pot_kasa_and_bonus() -> None:
    """Ç3, Ç4, Ç5: the stake is 50, so the bonus is 25."""
    seen = view(RACK, people=[0], pot=90, kasa=40)
    assert of(seen) == {"NORMAL": 90, "OKEY": 130, "CIFT": 130, "CIFT_OKEY": 155}


def test_the_house_takes_no_kasa_unless_its_partner_is_a_person() -> None:
    """Ç11, M6: only where the whole side is the house's."""
    assert set(of(view(RACK, people=[1], kasa=40)).values()) == {1.0}
    four = ("", "", "", "")
    for people, is_equal in (([2], False), ([1, 3], True)):
        seen = view(RACK, people=people, kasa=40, piles=four, mode=Mode.ESLI)
        assert (len(set(of(seen).values())) == 1) is is_equal


def test_klasik_counts_points_up_to_the_end_of_the_match() -> None:
    """K2, K4: twice for okey or çift, four times for both; who is at 0 ends the match."""

    def klasik(*points: int) -> dict[str, float]:
        return of(view(RACK, variant=Variant.KLASIK, points=points, people=[0, 1]))

    assert klasik(20, 20) == {"NORMAL": 4, "OKEY": 6, "CIFT": 6, "CIFT_OKEY": 10}
    assert klasik(1, 5) == {"NORMAL": 4, "OKEY": 6, "CIFT": 6, "CIFT_OKEY": 7}
    assert set(klasik(20, 1).values()) == {4}


def test_a_finish_that_ends_the_match_while_another_is_ahead_is_worth_nothing() -> None:
    """K4, K5, K9: only who can win the match can be ahead."""

    def klasik(points: tuple[int, ...], people: tuple[int, ...] = (0, 1, 2, 3)) -> dict[str, float]:
        four = ("", "", "", "")
        seen = view(RACK, piles=four, variant=Variant.KLASIK, points=points, people=people)
        return of(seen)

    assert set(klasik((3, 20, 1, 9)).values()) == {0}
    assert set(klasik((3, 20, 3, 9)).values()) == {0, 4}
    assert klasik((3, 20, 3, 9))["NORMAL"] == 4
    assert klasik((16, 20, 1, 9)) == {"NORMAL": 0, "OKEY": 4, "CIFT": 4, "CIFT_OKEY": 4}
    assert 0 not in klasik((3, 20, 1, 3), (0, 3)).values()
    assert 0 not in klasik((3, 20, 1, 3), (2, 3)).values()
    assert 0 not in klasik((3, 20, 1, 3), (2,)).values()
    assert 0 in klasik((3, 20, 1, 3), ()).values()


def test_in_a_tie_break_every_finish_wins() -> None:
    """K6: no deductions."""
    seen = view(RACK, variant=Variant.KLASIK, points=(7, 7), people=[0, 1], is_tie_break=True)
    assert set(of(seen).values()) == {1.0}
    assert F.NORMAL.name in of(seen)

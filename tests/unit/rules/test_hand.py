"""The three forms of a hand."""

import json
from pathlib import Path

import pytest

from okey.rules.faces import WrongTileCount
from okey.rules.hand import Form, classify
from okey.rules.tile import NotAnOkey, Tile, okey_of, parse_rack

CASES = Path(__file__).parents[2] / "data" / "hands.jsonl"

WORKED_HANDS = [
    ("R7", "Y1 Y2 Y3 B5 B6 B7 B8 R4 Y4 K4 K11 K12 K13 K1", "normal"),
    ("R7", "Y1 Y2 Y3 B5 B6 B7 B8 R4 Y4 K4 K12 K13 K1 K2", ""),
    ("B4", "R13 R1 B5 Y7 B7 K7 K2 K3 K4 K5 R9 Y9 B9 K9", "normal"),
    ("B4", "R13 R2 B5 Y7 B7 K7 K2 K3 K4 K5 R9 Y9 B9 K9", ""),
    ("R7", "R6 R7 S S Y8 B8 K8 Y2 Y3 Y4 K10 K11 K12 K13", "normal"),
    ("R7", "R1 R2 S Y5 B5 K5 B9 B10 B11 B12 Y10 Y11 Y12 Y13", ""),
    ("R7", "R1 R2 R8 Y5 B5 K5 B9 B10 B11 B12 Y10 Y11 Y12 Y13", "normal"),
    ("R7", "S S Y8 B8 B1 B2 B3 K4 K5 K6 K7 Y10 B10 K10", ""),
    ("K13", "K1 K1 S S R2 R2 Y5 Y5 B8 B8 R11 R11 Y13 Y13", "pairs"),
    ("B9", "R5 Y5 R2 R2 Y7 Y7 B8 B8 K3 K3 R11 R11 Y13 Y13", ""),
    ("B9", "R5 B10 R2 R2 Y7 Y7 B8 B8 K3 K3 R11 R11 Y13 Y13", "pairs"),
    ("K5", "R1 R1 R2 R2 R3 R3 R4 R4 R5 R5 R6 R6 R7 R7", "normal pairs"),
    ("B4", "K3 K6 B5 B5 R9 Y9 B9 Y11 Y12 Y13 Y1 R5 Y5 K5", "normal"),
    ("R13", "R13 S R2 R3 R4 R5 Y6 B6 K6 K8 K9 K10 K11 K12", ""),
]

OTHER_HANDS = [
    # H3: the longest run takes both 1s.
    ("R7", "Y1 Y2 Y3 Y4 Y5 Y6 Y7 Y8 Y9 Y10 Y11 Y12 Y13 Y1", "normal"),
    ("R7", "Y1 Y2 Y3 Y4 Y5 Y6 Y7 Y8 Y9 Y10 Y11 Y12 Y13 K1", ""),
    # H4: a colour twice is no group, with an okey neither.
    ("R7", "R4 R4 Y4 B1 B2 B3 K4 K5 K6 K7 Y10 B10 K10 R10", ""),
    ("R7", "R4 R4 R8 B1 B2 B3 K4 K5 K6 K7 Y10 B10 K10 R10", ""),
    # H4, T5: two okeys and one tile are a meld, and so is 1-okey-okey-4.
    ("R7", "R5 R8 R8 B1 B2 B3 K4 K5 K6 K7 Y10 B10 K10 R10", "normal"),
    ("R7", "Y1 R8 R8 Y4 B1 B2 B3 K5 K6 K7 Y10 B10 K10 R10", "normal"),
    # H2, T5: okeys on their own are a meld (only thought of, there are two).
    ("R7", "R8 R8 R8 B1 B2 B3 K4 K5 K6 K7 Y10 B10 K10 R10", "normal"),
    # H2: three groups of four and two okeys: a group gives a tile to a new meld.
    ("R7", "R4 Y4 B4 K4 R6 Y6 B6 K6 R10 Y10 B10 K10 R8 R8", "normal"),
    # H2: two tiles left over are no meld.
    ("R7", "R4 Y4 B4 K4 R6 Y6 B6 K6 R10 Y10 B10 K10 Y1 Y2", ""),
    # H5, T6: sahte with sahte is a pair, sahte with a tile of another face is not.
    ("R7", "S S R2 R2 Y5 Y5 B8 B8 R11 R11 Y13 Y13 K1 K1", "pairs"),
    ("R7", "S Y8 R2 R2 Y5 Y5 B8 B8 R11 R11 Y13 Y13 K1 K1", ""),
    # H5: sahte with okey, okey with anything; two lone tiles need two okeys.
    ("R7", "S R8 R2 R2 Y5 Y5 B8 B8 R11 R11 Y13 Y13 K1 K1", "pairs"),
    ("R7", "R8 R8 R2 Y2 Y5 Y5 B8 B8 R11 R11 Y13 Y13 K1 K1", "pairs"),
    ("R7", "R8 K3 R2 Y2 Y5 Y5 B8 B8 R11 R11 Y13 Y13 K1 K1", ""),
    # H5: a tile four times is two pairs; impossible, and judged.
    ("R7", "K1 K1 K1 K1 R2 R2 Y5 Y5 B8 B8 R11 R11 Y13 Y13", "pairs"),
    # H1: five and fourteen copies of a tile are judged as well.
    ("R7", "Y1 Y1 Y1 Y1 Y1 R2 R2 R2 R2 R2 B3 B3 B3 B3", ""),
    ("R7", " ".join(["Y1"] * 14), "pairs"),
    ("R7", " ".join(["Y5"] * 4 + ["R5"] * 4 + ["B5"] * 4 + ["R8"] * 2), "normal pairs"),
    ("R7", " ".join(["Y5"] * 7 + ["R5"] * 7), ""),
    # H6: fourteen real okeys; thirteen and a sahte are not.
    ("R7", " ".join(["R8"] * 14), "normal okeys pairs"),
    ("R7", " ".join(["R8"] * 13 + ["S"]), "normal pairs"),
]


def forms_of(gosterge: str, hand: str) -> str:
    return " ".join(
        sorted(form.value for form in classify(parse_rack(hand), okey_of(Tile.parse(gosterge))))
    )


@pytest.mark.parametrize(("gosterge", "hand", "forms"), WORKED_HANDS)
def test_worked_hand(gosterge: str, hand: str, forms: str) -> None:
    """H2, H3, H4, H5, T5, T6: the hands that the rule book works out."""
    assert forms_of(gosterge, hand) == forms


@pytest.mark.parametrize(("gosterge", "hand", "forms"), OTHER_HANDS)
def test_hand_that_is_easily_judged_wrong(gosterge: str, hand: str, forms: str) -> None:
    """H1, H2, H3, H4, H5, H6: each form at its limits, in impossible hands too."""
    assert forms_of(gosterge, hand) == " ".join(sorted(forms.split()))


def test_all_collected_hands() -> None:
    """H1, H2, H3, H4, H5: every line of tests/data/hands.jsonl."""
    lines = [json.loads(line) for line in CASES.read_text("utf-8").splitlines()]
    assert len(lines) == 1_000
    wrong = [
        line
        for line in lines
        if forms_of(line["gosterge"], " ".join(line["tiles"])).split() != sorted(line["forms"])
    ]
    assert wrong == []


@pytest.mark.parametrize("count", [0, 13, 15])
def test_only_fourteen_tiles_are_judged(count: int) -> None:
    """H1: another number is an error that says how many there were."""
    with pytest.raises(WrongTileCount, match=rf"^{count} tiles where 14"):
        classify([Tile.R1] * count, Tile.K1)


def test_sahte_okey_is_no_okey() -> None:
    """T4: the okey of a hand is a number tile."""
    with pytest.raises(NotAnOkey):
        classify([Tile.R1] * 14, Tile.S)


def test_order_of_the_tiles_does_not_matter() -> None:
    """H2: a hand is what it holds."""
    gosterge, hand, _forms = WORKED_HANDS[0]
    backwards = " ".join(reversed(hand.split()))
    assert forms_of(gosterge, backwards) == "normal"


def test_names_of_the_forms() -> None:
    """H1: three forms, by the names that other programs read."""
    assert [form.value for form in Form] == ["normal", "pairs", "okeys"]

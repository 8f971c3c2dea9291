"""Runs and groups laid out tile by tile."""

import pytest

from okey.rules.meld import is_group, is_run
from okey.rules.tile import Tile, parse_rack

OKEY = Tile.R8  # written as its plain tile; S has its face

RUNS = [
    "Y1 Y2 Y3",
    "B5 B6 B7 B8",
    "K11 K12 K13",
    "K12 K13 K1",
    "Y1 Y2 Y3 Y4 Y5 Y6 Y7 Y8 Y9 Y10 Y11 Y12 Y13",
    "Y1 Y2 Y3 Y4 Y5 Y6 Y7 Y8 Y9 Y10 Y11 Y12 Y13 Y1",
    "R8 K13 K1",  # begins with an okey: okey-13-1
    "K12 K13 R8",  # an okey as the 1 that ends
    "K12 R8 K1",
    "R8 R8 K1",
    "R8 Y2 Y3",
    "Y1 R8 R8 Y4",  # gapped
    "R8 R8 Y5",
    "R8 Y5 R8",
    "Y5 R8 R8",
    "R8 R8 R8",
    "R6 R7 S",
    "S R9 R10",
    "R7 R8 R9",  # an okey standing for itself
    " ".join(["R8"] * 14),
]

NOT_RUNS = [
    "Y1 Y2",
    "Y2 Y1 Y3",
    "Y1 Y2 Y4",
    "Y1 Y2 B3",
    "Y3 Y3 Y4",
    "K13 K1 K2",
    "K12 K13 K1 K2",
    "K13 K1 R8",  # an okey cannot be a 2 after the 1
    "R8 K1 K2",  # nor anything before the 1 that begins
    "K13 R8 R8",  # 13-1-?
    "Y1 R8 Y4",
    "S Y9 Y10",  # a sahte okey is red 8 and nothing else
    "Y7 S Y9",
    "B6 B7 S",
    "Y1 Y2 Y3 Y4 Y5 Y6 Y7 Y8 Y9 Y10 Y11 Y12 Y13 Y1 Y2",
    " ".join(["R8"] * 15),
    "",
]

GROUPS = [
    "R4 Y4 K4",
    "R4 Y4 B4 K4",
    "K4 Y4 R4",
    "R4 R8 K4",
    "R8 R8 K4",
    "R8 R8 K4 Y4",
    "R8 R8 R8",
    "R8 R8 R8 R8",
    "S Y8 B8",
    "S Y8 B8 K8",
    "S R8 K8",  # the okey as another colour
]

NOT_GROUPS = [
    "R4 Y4",
    "R4 Y4 K5",
    "R4 R4 Y4",
    "R4 Y4 R4",  # every colour against every other, not against the first only
    "Y4 R4 R4",
    "R4 R4 R8",  # an okey does not make two reds a group
    "R4 R4 R8 R8",
    "R4 Y4 B4 K4 R8",
    "R8 R8 R8 R8 R8",
    "S S Y8",
    "S Y9 B9",
    "",
]


@pytest.mark.parametrize("text", RUNS)
def test_run(text: str) -> None:
    """H3, T5, T6: consecutive numbers of one colour, the 1 first or after 13; okeys anywhere."""
    assert is_run(parse_rack(text), OKEY)


@pytest.mark.parametrize("text", NOT_RUNS)
def test_no_run(text: str) -> None:
    """H3, T6: no gap, no second colour, nothing beyond the 1; a sahte okey only in its place."""
    assert not is_run(parse_rack(text), OKEY)


@pytest.mark.parametrize("text", GROUPS)
def test_group(text: str) -> None:
    """H4, T5, T6: one number in 3 or 4 different colours; okeys for any of them."""
    assert is_group(parse_rack(text), OKEY)


@pytest.mark.parametrize("text", NOT_GROUPS)
def test_no_group(text: str) -> None:
    """H4, T6: a colour twice is no group, with an okey neither."""
    assert not is_group(parse_rack(text), OKEY)

"""``okeyctl hands``: hands as JSON lines in, verdicts as JSON lines out."""

import json
import os
import subprocess
import sys
from io import StringIO
from pathlib import Path

import pytest

from services.okeyctl import hands

ROOT = Path(__file__).parents[3]
CASES = ROOT / "tests" / "data" / "hands.jsonl"
HAND = "Y1 Y2 Y3 B5 B6 B7 B8 R4 Y4 K4 K11 K12 K13 K1"
GOOD = {"gosterge": "R7", "tiles": HAND.split()}


def answers(*lines: str) -> tuple[int, list[dict[str, object]]]:
    out = StringIO()
    status = hands.run(lines, out)
    return status, [json.loads(line) for line in out.getvalue().splitlines()]


def changed(**fields: object) -> str:
    return json.dumps(GOOD | fields)


def test_every_collected_hand_is_answered_right() -> None:
    """H1, H2, H3, H4, H5: all lines of tests/data/hands.jsonl, forms sorted."""
    lines = CASES.read_text("utf-8").splitlines()
    status, given = answers(*lines)
    assert status == 0
    assert given == [{"forms": json.loads(line)["forms"]} for line in lines]


def test_fourteen_okeys_have_all_three_forms() -> None:
    """H6: any 14 well-formed tiles are judged, possible or not."""
    status, given = answers(changed(tiles=["R8"] * 14))
    assert (status, given) == (0, [{"forms": ["normal", "okeys", "pairs"]}])


def test_each_answer_is_one_line_of_json() -> None:
    out = StringIO()
    assert hands.run([changed() + "\n", changed(tiles=["R8"] * 14) + "\r\n"], out) == 0
    assert out.getvalue() == '{"forms": ["normal"]}\n{"forms": ["normal", "okeys", "pairs"]}\n'


@pytest.mark.parametrize(
    ("line", "named"),
    [
        ("", "not JSON"),
        ("\n", "not JSON"),
        ("R7 Y1 Y2", "not JSON"),
        ("[" * 100_000, "nested too deep"),
        ('{"gosterge": "R7"', "not JSON"),
        ("[]", "[] where an object"),
        ("null", "null where an object"),
        ('"R7"', "where an object"),
        ("{}", "gosterge is null"),
        (changed(gosterge=7), "gosterge is 7"),
        (changed(gosterge="S"), "S cannot be the gösterge"),
        (changed(gosterge="R14"), "'R14' is no tile"),
        (changed(gosterge=""), "'' is no tile"),
        (json.dumps({"gosterge": "R7"}), "tiles is null"),
        (changed(tiles="Y1 Y2"), 'tiles is "Y1 Y2"'),
        (changed(tiles={"Y1": 14}), "tiles is {"),
        (changed(tiles=[]), "0 tiles where 14"),
        (changed(tiles=["Y1"] * 13), "13 tiles where 14"),
        (changed(tiles=["Y1"] * 15), "15 tiles where 14"),
        (changed(tiles=["Y1"] * 13 + ["Y0"]), "'Y0' is no tile"),
        (changed(tiles=["Y1"] * 13 + [1]), "1 among the tiles"),
        (changed(tiles=["Y1"] * 13 + [None]), "null among the tiles"),
        (changed(tiles=["Y1"] * 13 + ["y2"]), "'y2' is no tile"),
    ],
)
def test_a_bad_line_is_named_and_the_rest_is_answered(line: str, named: str) -> None:
    status, given = answers(changed(), line, changed())
    assert status == 1
    assert [set(answer) for answer in given] == [{"forms"}, {"error"}, {"forms"}]
    assert named in str(given[1]["error"])


@pytest.mark.parametrize(
    "fields",
    [
        {"gosterge": ["R7"] * 1_000},
        {"gosterge": "R" * 100_000},
        {"gosterge": "\x00" * 100_000},
        {"tiles": ["Y1"] * 100_000},
        {"tiles": ["Y1"] * 13 + ["Y" * 100_000]},
        {"tiles": "Y1" * 100_000},
        {"tiles": [["Y1"] * 100_000]},
    ],
    ids=lambda fields: str(fields)[:30],
)
def test_a_long_value_is_cut_in_the_error(fields: dict[str, object]) -> None:
    _status, [answer] = answers(changed(**fields))
    assert len(str(answer["error"])) < 200


@pytest.mark.parametrize(
    ("streams", "named"),
    [
        ("<&-", "standard input is closed"),
        (">&-", "standard output is closed"),
        (">/dev/full", "No space left on device"),
    ],
)
def test_streams_that_cannot_be_used_end_it_with_one_line(streams: str, named: str) -> None:
    script = f'"{sys.executable}" -m services.okeyctl.main hands {streams}'
    ended = subprocess.run(
        ["sh", "-c", script],
        input=changed() + "\n",
        capture_output=True,
        text=True,
        cwd=ROOT,
        check=False,
        timeout=60,
    )
    assert (ended.returncode, ended.stdout) == (2, "")
    (line,) = ended.stderr.splitlines()
    assert line.startswith("okeyctl hands: ")
    assert named in line


def test_a_reader_that_goes_away_ends_it_with_one_line() -> None:
    """As in ``okeyctl hands | head -1``."""
    read_end, write_end = os.pipe()
    os.close(read_end)
    with os.fdopen(write_end, "w") as out:
        ended = subprocess.run(
            [sys.executable, "-m", "services.okeyctl.main", "hands"],
            input=changed() + "\n",
            stdout=out,
            stderr=subprocess.PIPE,
            text=True,
            cwd=ROOT,
            check=False,
            timeout=60,
        )
    assert ended.returncode == 2
    (line,) = ended.stderr.splitlines()
    assert "Broken pipe" in line


def test_every_answer_is_plain_ascii() -> None:
    """Half a surrogate pair, or a Turkish letter, would stop a terminal that cannot show it."""
    out = StringIO()
    hands.run([changed(gosterge=["\ud800"]), changed(gosterge="S"), changed(gosterge="ş")], out)
    assert out.getvalue().isascii()
    assert len(out.getvalue().splitlines()) == 3


def test_nothing_in_gives_nothing_out() -> None:
    assert answers() == (0, [])


@pytest.mark.parametrize(
    "line", ["", "{", "[]", '{"tiles": []}', '{"gosterge": "R7"}', changed(tiles=[7] * 14)]
)
def test_a_line_of_another_form_has_a_reason_of_its_own(line: str) -> None:
    with pytest.raises(hands.MalformedLine) as refused:
        hands.forms_of(line)
    assert refused.value.reason == "MALFORMED_LINE"

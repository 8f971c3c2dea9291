"""``okeyctl arena``: the same figures however they are computed, contradictions refused."""

import json
from typing import Any

import pytest
from typer.testing import CliRunner

from okey.arena.contest import Contest
from okey.rules.variant import Mode, Variant
from services.okeyctl import arena
from services.okeyctl.app import app


def run(*arguments: str) -> tuple[int, str, str]:
    result = CliRunner().invoke(app, ["arena", *arguments])
    return result.exit_code, result.stdout, result.stderr


def figures(*arguments: str) -> dict[str, Any]:
    status, output, _ = run(*arguments, "--json", "--workers", "1")
    assert status == 0
    document: dict[str, Any] = json.loads(output)
    return document


@pytest.mark.parametrize(
    ("arguments", "matches", "chance"),
    [
        (("--seats", "2"), 4, 0.5),
        (("--seats", "4"), 8, 0.25),
        (("--seats", "4", "--mode", "esli"), 4, 0.5),
        (("--variant", "klasik", "--start-points", "3"), 4, 0.5),
    ],
)
def test_every_kind_of_table_is_played_in_every_seating(
    arguments: tuple[str, ...], matches: int, chance: float
) -> None:
    found = figures("neighbours", "random", "--deals", "2", *arguments)
    assert (found["challenger"], found["opponent"]) == ("neighbours", "random")
    assert (found["deals"], found["matches"], found["chance"]) == (2, matches, chance)
    decided = sum(found["won"].values()) + sum(found["lost"].values())
    assert found["drawn_rounds"] == found["rounds"] - decided
    for name in ("round_wins", "match_wins", "chips_lead", "points_lead"):
        assert found[name]["low"] <= found[name]["value"] <= found[name]["high"]


def test_any_number_of_processes_gives_the_same_figures() -> None:
    table = arena.table_for(Variant.CANAK, Mode.NORMAL, 2)
    contest = Contest(table, "neighbours", "random", 3)
    heard: list[int] = []
    alone = arena.play(contest, 3, workers=1, tell=heard.append)
    assert heard == [1, 2, 3]
    assert arena.play(contest, 3, workers=2) == alone


def test_a_person_gets_tables() -> None:
    klasik = ("--variant", "klasik", "--start-points", "3")
    arguments = ("neighbours", "random", *klasik, "--deals", "1", "--workers", "1")
    status, output, _ = run(*arguments)
    assert status == 0
    for word in ("decided rounds won", "lead in points a match", "unknown: one deal", "Seed 1"):
        assert word in output


def test_what_is_not_known_is_null() -> None:
    """JSON has no infinity, and one deal says nothing about the next."""
    found = figures("neighbours", "random", "--deals", "1")
    assert found["chips_lead"]["low"] is None
    random = figures("random", "random", "--deals", "1")
    assert random["round_wins"] is None
    assert "nothing decided" in run("random", "random", "--deals", "1", "--workers", "1")[1]


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (("strong", "kasparov"), "'kasparov' plays not here: choose from random, neighbours, easy"),
        (("strong", "easy", "--mode", "solo"), "O1"),
        (("strong", "easy", "--mode", "esli"), "O2"),
        (("strong", "easy", "--seats", "3"), "seat_count is 3"),
        (("strong", "easy", "--variant", "klasik", "--start-points", "4"), "K1"),
        (("strong", "easy", "--stake", "49"), "Ç1"),
    ],
)
def test_a_contradiction_is_refused_with_status_2(arguments: tuple[str, ...], word: str) -> None:
    """O1, O2, K1, Ç1: the message names what was wrong."""
    status, output, error = run(*arguments)
    assert (status, output) == (2, "")
    assert word in error
    assert error.startswith("okeyctl: ")


def test_no_deals_and_no_workers_are_refused() -> None:
    assert run("strong", "easy", "--deals", "0")[0] == 2
    assert run("strong", "easy", "--workers", "0")[0] == 2

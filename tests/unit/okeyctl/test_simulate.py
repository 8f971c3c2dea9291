"""``okeyctl simulate``: deterministic matches, every chip listed, contradictions refused."""

import json
from typing import Any

import pytest
from typer.testing import CliRunner

from okey.money.account import Account
from okey.rules.variant import Mode, Variant
from services.okeyctl import simulate
from services.okeyctl.app import app

KINDS = [
    ("canak", "2", "normal"),
    ("canak", "4", "normal"),
    ("canak", "2", "solo"),
    ("canak", "4", "solo"),
    ("canak", "4", "esli"),
    ("klasik", "2", "normal"),
    ("klasik", "4", "normal"),
]


def run(*arguments: str) -> tuple[int, str, str]:
    result = CliRunner().invoke(app, ["simulate", *arguments])
    return result.exit_code, result.stdout, result.stderr


def report(*arguments: str) -> dict[str, Any]:
    status, output, _ = run(*arguments, "--json")
    assert status == 0
    document: dict[str, Any] = json.loads(output)
    return document


@pytest.mark.parametrize(("variant", "seats", "mode"), KINDS)
def test_every_kind_of_match_is_played_and_sums_to_zero(
    variant: str, seats: str, mode: str
) -> None:
    """M3: all accounts together are zero, and every account with chips is listed."""
    points = ("--start-points", "3") if variant == "klasik" else ()
    kind = ("--variant", variant, "--seats", seats, "--mode", mode)
    found = report(*kind, "--matches", "2", "--seed", "5", *points)
    assert (found["variant"], found["seats"], found["mode"]) == (variant, int(seats), mode)
    assert found["matches"] == 2 == sum(found["outcomes"].values())
    assert found["sum"] == 0 == sum(found["chips"].values())
    assert all(found["chips"].values())
    assert len(found["wins_by_seat"]) == int(seats)
    assert found["rounds"] >= 2
    assert sum(found["finishes"].values()) <= found["rounds"]


def test_the_same_seed_gives_the_same_bytes_and_another_does_not() -> None:
    one, two, other = (
        run("--matches", "2", "--seats", "2", "--seed", seed, "--json")[1]
        for seed in ("1", "1", "2")
    )
    assert one == two
    assert json.loads(one)["moves"] != json.loads(other)["moves"]


def test_canak_with_four_seats_is_the_default() -> None:
    """Ç0: the standard variant wherever none is named."""
    found = report("--matches", "1")
    assert (found["variant"], found["seats"], found["mode"]) == ("canak", 4, "normal")


def test_klasik_starts_with_twenty_points() -> None:
    """K1: 20 is the default; with fewer a match has fewer rounds."""
    wish = simulate.Wish(Variant.KLASIK, 2, Mode.NORMAL, matches=1, seed=1)
    assert simulate.play(wish).rounds >= 5


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (("--variant", "klasik", "--mode", "solo"), "K1"),
        (("--variant", "klasik", "--mode", "esli"), "K1"),
        (("--mode", "esli", "--seats", "2"), "O2"),
        (("--seats", "3"), "seat_count is 3"),
        (("--start-points", "5"), "K1"),
        (("--variant", "klasik", "--start-points", "4"), "start_points is 4"),
        (("--stake", "49"), "Ç1"),
        (("--stake", "250000", "--mode", "solo"), "M7"),
    ],
)
def test_a_contradiction_is_refused_with_status_2(arguments: tuple[str, ...], word: str) -> None:
    """K1, O2, Ç1, M7: the message names the rule, and nothing is printed as a result."""
    status, output, error = run(*arguments, "--json")
    assert (status, output) == (2, "")
    assert word in error
    assert error.startswith("okeyctl: ")
    assert len(error.splitlines()) == 1


@pytest.mark.parametrize(
    "arguments",
    [("--variant", "tavla"), ("--mode", "duo"), ("--matches", "0"), ("--seed", "x"), ("--no",)],
)
def test_what_cannot_be_read_is_refused_with_status_2(arguments: tuple[str, ...]) -> None:
    assert run(*arguments)[0] == 2


def test_a_person_gets_tables() -> None:
    status, output, _ = run("--matches", "1", "--seats", "2")
    assert status == 0
    assert "CANAK_WIN" in output
    assert "system:issuance" in output
    assert "all accounts together: 0 chips" in output


def test_progress_counts_matches_and_is_for_a_terminal_only(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert simulate.show_progress(3) is None
    heard: list[int] = []
    wish = simulate.Wish(Variant.CANAK, 2, Mode.NORMAL, matches=3, seed=1)
    simulate.play(wish, heard.append)
    assert heard == [1, 2, 3]
    assert capsys.readouterr().err == ""


def test_accounts_of_one_table_are_summed_by_kind() -> None:
    wish = simulate.Wish(Variant.CANAK, 2, Mode.NORMAL, matches=1, seed=1)
    report = simulate.play(wish)
    report.balances.clear()
    accounts = {"pot:a-1": 5, "pot:b-1": 6, "kasa:a": 7, "escrow:a": 0, "player:p": -18}
    report.balances.update({Account(name): chips for name, chips in accounts.items()})
    assert simulate.chips(report) == {"kasa:*": 7, "player:p": -18, "pot:*": 11}

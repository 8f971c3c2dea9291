"""``okeyctl hands``, ``simulate`` and ``arena``: what needs no platform."""

import sys
from enum import StrEnum
from typing import Annotated

import typer

from okey.arena.contest import BOTS, Contest
from okey.rules.rule_set import DEFAULT_RULE_SET
from okey.rules.variant import Mode, Variant
from services.okeyctl import arena as arenas
from services.okeyctl import hands as hand_lines
from services.okeyctl import simulate as simulation
from services.okeyctl.ending import FINDINGS, Output, refusals
from services.okeyctl.options import AsJson


class VariantName(StrEnum):
    """How a variant is written on a command line."""

    CANAK = "canak"
    KLASIK = "klasik"


class ModeName(StrEnum):
    """How a mode is written on a command line."""

    NORMAL = "normal"
    SOLO = "solo"
    ESLI = "esli"


Game = Annotated[VariantName, typer.Option(help="The game.")]
Seats = Annotated[int, typer.Option(help="2 or 4.")]
Stake = Annotated[int, typer.Option(help="Chips that a match costs a seat.")]
StartPoints = Annotated[int | None, typer.Option(help="Klasik only: 3, 5, 10, 15 or 20.")]


def hands() -> None:
    """Judge hands, JSON lines in and out.

    In: {"gosterge": "B4", "tiles": [14 tiles]}, such as R7 K13 S. Out: {"forms": ["normal"]}, the
    ways in which it is a finished hand.
    """
    sys.exit(hand_lines.run_on(sys.stdin, sys.stdout))


def simulate(
    variant: Game = VariantName.CANAK,
    seats: Seats = 4,
    mode: Annotated[ModeName, typer.Option(help="Solo and Eşli are Çanak's.")] = ModeName.NORMAL,
    matches: Annotated[int, typer.Option(min=1, help="How many matches.")] = 100,
    seed: Annotated[int, typer.Option(help="The same seed plays the same matches.")] = 1,
    stake: Stake = DEFAULT_RULE_SET.default_stake,
    start_points: StartPoints = None,
    as_json: AsJson = False,
) -> None:
    """Play whole matches in this process.

    Shows outcomes and chips by account. Status 1 if the chips do not sum to zero.
    """
    wish = simulation.Wish(
        Variant[variant.name], seats, Mode[mode.name], matches, seed, stake, start_points
    )
    with refusals():
        report = simulation.play(wish, simulation.show_progress(matches))
    if as_json:
        print(simulation.as_json(wish, report))
    else:
        simulation.show(wish, report, Output())
    sys.exit(FINDINGS if report.total else 0)


def arena(
    challenger: Annotated[
        str, typer.Argument(metavar="CHALLENGER", help=f"One of {', '.join(BOTS)}.")
    ],
    opponent: Annotated[str, typer.Argument(metavar="OPPONENT", help="Who has the other seats.")],
    variant: Game = VariantName.CANAK,
    seats: Seats = 2,
    mode: Annotated[ModeName, typer.Option(help="In Eşli each has a pair.")] = ModeName.NORMAL,
    deals: Annotated[int, typer.Option(min=1, help="Each is played once a seat.")] = 200,
    seed: Annotated[int, typer.Option(help="The same seed deals the same deals.")] = 1,
    stake: Stake = DEFAULT_RULE_SET.default_stake,
    start_points: StartPoints = None,
    workers: Annotated[int | None, typer.Option(min=1, help="Processes; else one a core.")] = None,
    as_json: AsJson = False,
) -> None:
    """Compare two bots on the same deals.

    Every deal is played with the challenger in each seat; every interval is for 95 %.
    """
    with refusals():
        table = arenas.table_for(Variant[variant.name], Mode[mode.name], seats, stake, start_points)
        contest = Contest(table, challenger, opponent, seed)
        with arenas.progress_bar(deals) as tell:
            figures = arenas.play(contest, deals, workers, tell)
    if as_json:
        print(arenas.as_json(contest, figures))
    else:
        arenas.show(contest, figures, Output())

"""``okeyctl arena``: one bot against another on duplicate deals, on all cores of this machine."""

import json
import math
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from multiprocessing import get_context, resource_tracker
from multiprocessing.pool import Pool
from signal import SIG_BLOCK, SIG_SETMASK, SIGINT, pthread_sigmask
from typing import Final

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from okey.arena.contest import Contest, DealResult, play_deal
from okey.arena.figures import Estimate, Figures, summarise
from okey.rules.finish import FinishKind
from okey.rules.rule_set import DEFAULT_RULE_SET
from okey.rules.variant import Mode, Variant
from okey.table.config import TableConfig, check_config

Tell = Callable[[int], None]

_ANY_TABLE: Final = "arena"
_CHUNK: Final = 4


def table_for(
    variant: Variant,
    mode: Mode,
    seats: int,
    stake: int = DEFAULT_RULE_SET.default_stake,
    start_points: int | None = None,
) -> TableConfig:
    """The kind of table to play at; ``start_points`` None is Klasik's default (K1).

    Raises:
        InvalidTableConfig: the wishes contradict the rules, such as an Eşli table of two (O2).
    """
    if start_points is None:
        start_points = DEFAULT_RULE_SET.default_start_points if variant is Variant.KLASIK else 0
    config = TableConfig(_ANY_TABLE, variant, mode, seats, stake, start_points=start_points)
    check_config(config)
    return config


def play(
    contest: Contest, deals: int, workers: int | None = None, tell: Tell | None = None
) -> Figures:
    """Play the deals 1 to ``deals`` and sum them up: the same figures on any number of workers.

    ``workers`` are processes, by default one a core; ``tell`` hears how many deals are done.
    """
    results: list[DealResult] = []
    for result in _results(contest, deals, workers or os.cpu_count() or 1):
        results.append(result)
        if tell is not None:
            tell(len(results))
    return summarise(results)


def _results(contest: Contest, deals: int, workers: int) -> Iterator[DealResult]:
    numbers = range(1, deals + 1)
    if workers == 1:
        yield from map(partial(play_deal, contest), numbers)
        return
    with deaf_pool(min(workers, deals)) as pool:
        yield from pool.imap(partial(play_deal, contest), numbers, chunksize=_CHUNK)


def deaf_pool(workers: int) -> Pool:
    """Processes that Ctrl-C does not reach, from their first moment on: whoever made them hears it
    and ends them.
    """
    resource_tracker.ensure_running()  # which lets SIGINT through again when it starts
    before = pthread_sigmask(SIG_BLOCK, {SIGINT})
    try:
        return get_context("spawn").Pool(workers)
    finally:
        pthread_sigmask(SIG_SETMASK, before)


@contextmanager
def progress_bar(deals: int) -> Iterator[Tell]:
    """A bar on stderr, where that is a terminal."""
    console = Console(stderr=True)
    columns = (TextColumn("deals"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(
        *columns, console=console, transient=True, disable=not console.is_terminal
    ) as bar:
        task = bar.add_task("deals", total=deals)
        yield lambda done: bar.update(task, completed=done)


def as_json(contest: Contest, figures: Figures) -> str:
    """Contest and figures as one JSON object; the same bytes for the same contest."""
    config = contest.config
    document = {
        "variant": config.variant.name.lower(),
        "mode": config.mode.name.lower(),
        "seats": config.seat_count,
        "stake": config.stake,
        "start_points": config.start_points,
        "seed": contest.seed,
        "challenger": contest.challenger,
        "opponent": contest.opponent,
        "deals": figures.deals,
        "matches": figures.matches,
        "drawn_matches": figures.drawn_matches,
        "rounds": figures.rounds,
        "drawn_rounds": figures.drawn_rounds,
        "won": {finish.name: figures.won[finish] for finish in FinishKind},
        "lost": {finish.name: figures.lost[finish] for finish in FinishKind},
        "chance": contest.chance,
        "round_wins": _numbers(figures.round_wins),
        "match_wins": _numbers(figures.match_wins),
        "chips_lead": _numbers(figures.chips),
        "points_lead": _numbers(figures.points),
    }
    return json.dumps(document, indent=2)


def _numbers(estimate: Estimate | None) -> dict[str, float | None] | None:
    """JSON knows no infinity: what is not known is null."""
    if estimate is None:
        return None
    named = {"value": estimate.value, "low": estimate.low, "high": estimate.high}
    return {name: number if math.isfinite(number) else None for name, number in named.items()}


def show(contest: Contest, figures: Figures, console: Console) -> None:
    """Contest and figures as tables for a person."""
    config = contest.config
    kind = f"{config.variant.name.lower()} {config.mode.name.lower()}, {config.seat_count} seats"
    sheet = Table(
        "what",
        contest.challenger,
        "95 % interval",
        title=f"{contest.challenger} against {contest.opponent}: {kind}, {figures.deals} deals",
    )
    for name, share in (
        ("decided rounds won", figures.round_wins),
        ("decided matches won", figures.match_wins),
    ):
        sheet.add_row(name, *_percent(share))
    sheet.add_row("lead in chips a match", *_plain(figures.chips))
    if config.variant is Variant.KLASIK:
        sheet.add_row("lead in points a match", *_plain(figures.points))
    console.print(sheet)
    finishes = Table("finish", contest.challenger, contest.opponent)
    for finish in FinishKind:
        finishes.add_row(finish.name, str(figures.won[finish]), str(figures.lost[finish]))
    console.print(finishes)
    console.print(
        f"{figures.matches} matches, {figures.drawn_matches} drawn; "
        f"{figures.rounds} rounds, {figures.drawn_rounds} drawn."
    )
    console.print(f"Equals would win {contest.chance:.0%} of the rounds. Seed {contest.seed}.")


def _percent(share: Estimate | None) -> tuple[str, str]:
    if share is None:
        return "nothing decided", ""
    return f"{share.value:.1%}", f"{share.low:.1%} to {share.high:.1%}"


def _plain(lead: Estimate) -> tuple[str, str]:
    if not math.isfinite(lead.low):
        return f"{lead.value:+.2f}", "unknown: one deal"
    return f"{lead.value:+.2f}", f"{lead.low:+.2f} to {lead.high:+.2f}"

"""Builders of tables for tests: every kind, in every phase, with the hands that a rule is shown by.

Nothing here is random and no clock is read: a :class:`Driver` counts its seeds and its time.
"""

from dataclasses import replace
from functools import cache
from itertools import count

from okey.rules.rule_set import DEFAULT_RULE_SET, RuleSet
from okey.rules.variant import BotLevel, Mode, Variant
from okey.table import commands as c
from okey.table.config import TableConfig
from okey.table.state import (
    Phase,
    SeatStatus,
)
from tests.driver import (
    FAR,
    GOSTERGE,
    NORMAL,
    PILE,
    START_MS,
    STOCK,
    Driver,
    kinds,
    of_kind,
    rack,
    seed,
    the,
)

__all__ = [
    "CIFT",
    "FAR",
    "GOSTERGE",
    "NORMAL",
    "PILE",
    "PLAYERS",
    "START_MS",
    "STOCK",
    "TABLE_ID",
    "Driver",
    "canak",
    "dealt",
    "esli",
    "kinds",
    "klasik",
    "nachspiel",
    "next_of",
    "of_kind",
    "opened",
    "paid",
    "paused",
    "rack",
    "seated",
    "seed",
    "settling",
    "shuffled",
    "solo",
    "starting",
    "the",
    "tie_break",
]

TABLE_ID = "t" * 26
PLAYERS = ("ayse", "bora", "cem", "deniz")

CIFT = "Y2 Y2 Y5 Y5 B8 B8 R11 R11 Y13 Y13 K3 K3 K9 K9"
"""14 tiles that are seven pairs and no normal hand."""


def canak(
    seats: int = 2,
    *,
    stake: int = 50,
    house_fill_after_ms: int = 0,
    rules: RuleSet = DEFAULT_RULE_SET,
) -> TableConfig:
    """A Çanak table of two unless said."""
    return TableConfig(
        TABLE_ID,
        seat_count=seats,
        stake=stake,
        house_fill_after_ms=house_fill_after_ms,
        rules=rules,
    )


def klasik(seats: int = 2, points: int = 20, rules: RuleSet = DEFAULT_RULE_SET) -> TableConfig:
    """A Klasik table of two unless said."""
    return TableConfig(TABLE_ID, Variant.KLASIK, seat_count=seats, start_points=points, rules=rules)


def solo(seats: int = 2, level: BotLevel = BotLevel.NORMAL) -> TableConfig:
    """One person against bots."""
    return TableConfig(TABLE_ID, mode=Mode.SOLO, seat_count=seats, bot_level=level)


def esli(rules: RuleSet = DEFAULT_RULE_SET) -> TableConfig:
    """Two against two."""
    return TableConfig(TABLE_ID, mode=Mode.ESLI, rules=rules)


def opened(config: TableConfig | None = None) -> Driver:
    """A table just opened by the first player, whose stake is asked for."""
    table = Driver(config or canak())
    table.do(c.OpenTable(table.config, PLAYERS[0]))
    return table


def seated(config: TableConfig | None = None) -> Driver:
    """Every seat taken, no stake held yet."""
    table = opened(config)
    for index, seat in enumerate(table.state.seats):
        if seat.status is SeatStatus.FREE:
            table.do(c.TakeSeat(PLAYERS[index]))
    return table


def paid(config: TableConfig | None = None) -> Driver:
    """Every stake held: the count-down runs."""
    table = seated(config)
    table.pay()
    assert table.is_in(Phase.COUNTDOWN)
    return table


def starting(config: TableConfig | None = None) -> Driver:
    """The start is with the wallet."""
    table = paid(config)
    table.request_start()
    assert table.is_in(Phase.STARTING)
    return table


def dealt(config: TableConfig | None = None, starter: int = 0) -> Driver:
    """The first round is dealt and ``starter`` is to move, with FAR hands all round."""
    table = shuffled(config, starter)
    table.arrange()
    return table


def shuffled(config: TableConfig | None = None, starter: int = 0) -> Driver:
    """The first round is dealt and ``starter`` is to move, with the tiles that its seed gave."""
    chosen = config or canak()
    return _just_dealt(chosen, _seed_of_starter(chosen, starter))


@cache
def _seed_of_starter(config: TableConfig, starter: int) -> int:
    """The first of the counted seeds that makes this seat the starter (T8)."""
    return next(first for first in count(1) if _just_dealt(config, first).mover == starter)


def _just_dealt(config: TableConfig, first_seed: int) -> Driver:
    table = Driver(config, first_seed)
    table.do(c.OpenTable(config, PLAYERS[0]))
    for index, seat in enumerate(table.state.seats):
        if seat.status is SeatStatus.FREE:
            table.do(c.TakeSeat(PLAYERS[index]))
    table.pay()
    table.start()
    return table


def settling(config: TableConfig | None = None) -> Driver:
    """A Çanak match drawn, or a Klasik match won by seat 0: the result is with the wallet."""
    table = dealt(config)
    if table.config.variant is Variant.CANAK:
        table.draw_round()
    else:
        table.set_points(*(1,) * table.config.seat_count)
        table.win(0)
    assert table.is_in(Phase.SETTLING)
    return table


def nachspiel(config: TableConfig | None = None) -> Driver:
    """A drawn Çanak match is settled, everybody decides."""
    table = settling(config)
    table.settle()
    assert table.is_in(Phase.NACHSPIEL)
    return table


def paused(config: TableConfig | None = None) -> Driver:
    """The pause after a drawn first Klasik round."""
    table = dealt(config or klasik())
    table.draw_round()
    assert table.is_in(Phase.PAUSE)
    return table


def tie_break(
    *contenders: int, seats: int = 4, starter: int = -1, rules: RuleSet = DEFAULT_RULE_SET
) -> Driver:
    """A Klasik tie-break just dealt between these seats, not all; a ``starter`` may be asked for.

    Before it the first contender won a round, after which all have 7 points, the others 0.
    """
    table = dealt(klasik(seats, rules=rules))
    winner = contenders[0]
    table.set_points(
        *(7 if seat == winner else 9 if seat in contenders else 2 for seat in range(seats))
    )
    if starter >= 0:
        playing = tuple(sorted(contenders))
        dealer = playing[playing.index(starter) - 1]
        before = next(d for d in range(seats) if next_of(playing, d) == dealer)
        table.state = replace(table.state, last_dealer=before)
    table.win(winner)
    assert table.match.contenders == tuple(sorted(contenders))
    table.next_round()
    table.arrange()
    return table


def next_of(playing: tuple[int, ...], seat: int) -> int:
    """The playing seat after ``seat``."""
    return next((each for each in playing if each > seat), playing[0])

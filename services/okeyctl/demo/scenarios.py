"""What the demo plays: one table a scenario, who sits there, and what must be seen to happen."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from okey.api.common.v1 import common_pb2
from okey.api.lobby.v1 import lobby_pb2
from services.okeyctl.demo.player import Habits

_SLOW_TURN_MS: Final = 120_000
_QUICK_TURN_MS: Final = 15_000

_ONCE: Final = {"round_dealt": 1, "match_ended": 1, "settlement_confirmed": 1, "table_closed": 1}


@dataclass(frozen=True, slots=True)
class Scenario:
    """A kind of match.

    ``habits`` has an entry for each person. ``expected`` says how often, at least, the spectator
    must see an event. Where that needs luck (a match that leaves the kasa standing, a round that
    lasts long enough) another table is tried, ``tables`` at most.
    """

    title: str
    terms: lobby_pb2.TableTerms
    habits: tuple[Habits, ...]
    expected: Mapping[str, int] = field(default_factory=lambda: _ONCE)
    tables: int = 1


def _terms(
    seats: int,
    *,
    variant: common_pb2.Variant.ValueType = common_pb2.VARIANT_CANAK,
    mode: common_pb2.Mode.ValueType = common_pb2.MODE_NORMAL,
    turn_timeout_ms: int = _SLOW_TURN_MS,
    start_points: int = 0,
) -> lobby_pb2.TableTerms:
    return lobby_pb2.TableTerms(
        variant=variant,
        mode=mode,
        seat_count=seats,
        stake=STAKE,
        turn_timeout_ms=turn_timeout_ms,
        start_points=start_points,
    )


STAKE: Final = 100
_NORMAL: Final = Habits()
_KLASIK: Final = common_pb2.VARIANT_KLASIK

FORFEIT: Final = Scenario(
    "forfeit",
    _terms(4),
    (_NORMAL, Habits(gives_up_in=2), _NORMAL, _NORMAL),
    {**_ONCE, "seat_forfeited": 1},
    tables=8,
)

SCENARIOS: Final = (
    Scenario("Çanak 2", _terms(2), (_NORMAL,) * 2),
    Scenario("Çanak 4", _terms(4), (_NORMAL,) * 4),
    Scenario(
        "Nachspiel",
        _terms(2),
        (Habits(matches=2),) * 2,
        {**_ONCE, "nachspiel_started": 1, "match_started": 2, "match_ended": 2},
        tables=8,
    ),
    Scenario("solo", _terms(4, mode=common_pb2.MODE_SOLO), (_NORMAL,)),
    Scenario("Eşli", _terms(4, mode=common_pb2.MODE_ESLI), (_NORMAL,) * 4),
    Scenario("Klasik 2", _terms(2, variant=_KLASIK, start_points=3), (_NORMAL,) * 2),
    Scenario("Klasik 4", _terms(4, variant=_KLASIK, start_points=3), (_NORMAL,) * 4),
    FORFEIT,
    Scenario(
        "timeout",
        _terms(2, turn_timeout_ms=_QUICK_TURN_MS),
        (_NORMAL, Habits(sleeps_from=1)),
        {**_ONCE, "turn_timed_out": 2, "stand_in_seated": 1, "player_returned": 1},
        tables=8,
    ),
)

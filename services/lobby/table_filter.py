"""Which tables of the list a player wants to see.

Tables that are alike in all that is filtered by are judged together: most are, and anybody may ask
for filters that nothing passes as often as calls are let through.
"""

from collections.abc import Sequence
from typing import Final, NamedTuple

from okey.api.lobby.v1 import lobby_pb2

_WITHOUT_LIMIT: Final = 2**63 - 1


class Kind(NamedTuple):
    """All of a table that is filtered by; ``stake`` in chips, ``turn_timeout_ms`` in
    milliseconds.
    """

    variant: int
    mode: int
    seat_count: int
    start_points: int
    stake: int
    turn_timeout_ms: int
    is_joinable: bool
    has_kasa: bool
    has_house_fill: bool

    @classmethod
    def of(cls, table: lobby_pb2.ListedTable) -> "Kind":
        """The table's kind."""
        terms = table.terms
        return cls(
            terms.variant,
            terms.mode,
            terms.seat_count,
            terms.start_points,
            terms.stake,
            terms.turn_timeout_ms,
            table.is_joinable,
            table.kasa > 0,
            table.house_fill_after_ms > 0,
        )


class Filter:
    """The filters of a request, read once; one that is not set lets every table through."""

    def __init__(self, request: lobby_pb2.ListTablesRequest) -> None:
        exact = (request.variant, request.mode, request.seat_count, request.start_points)
        self._exact = [(at, value) for at, value in enumerate(exact) if value]
        self._stakes = request.min_stake, request.max_stake or _WITHOUT_LIMIT
        self._turns = request.min_turn_timeout_ms, request.max_turn_timeout_ms or _WITHOUT_LIMIT
        self._only_joinable = request.only_joinable
        self._only_with_kasa = request.only_with_kasa
        self._without_house_fill = request.without_house_fill

    def passes(self, kind: Kind) -> bool:
        """Whether tables of the kind pass every filter that is set."""
        least_stake, most_stake = self._stakes
        least_turn, most_turn = self._turns
        return (
            least_stake <= kind.stake <= most_stake
            and least_turn <= kind.turn_timeout_ms <= most_turn
            and all(kind[at] == value for at, value in self._exact)
            and (kind.is_joinable or not self._only_joinable)
            and (kind.has_kasa or not self._only_with_kasa)
            and not (kind.has_house_fill and self._without_house_fill)
        )


class Kinds:
    """Numbers the kinds of tables, from 0."""

    def __init__(self) -> None:
        self._numbers: dict[Kind, int] = {}
        self._kinds: list[Kind] = []

    def of(self, table: lobby_pb2.ListedTable) -> int:
        """The number of the table's kind."""
        kind = Kind.of(table)
        number = self._numbers.setdefault(kind, len(self._kinds))
        if number == len(self._kinds):
            self._kinds.append(kind)
        return number

    def judged_by(self, request: lobby_pb2.ListTablesRequest) -> "Verdicts":
        """Which of them pass the filters of the request."""
        return Verdicts(self._kinds, Filter(request))


class Verdicts(dict[int, bool]):
    """Whether a kind passes, by its number; judged once, when it is asked for."""

    def __init__(self, kinds: Sequence[Kind], wanted: Filter) -> None:
        super().__init__()
        self._kinds = kinds
        self._wanted = wanted

    def __missing__(self, number: int) -> bool:
        """Judge it."""
        verdict = self[number] = self._wanted.passes(self._kinds[number])
        return verdict

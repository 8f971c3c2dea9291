"""A spectator: follows a table with its own token, shows it as text, remembers what happened."""

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Final

from okey.api.common.v1 import common_pb2
from okey.api.engine.v1 import table_pb2
from okey.api.events.v1 import events_pb2
from okey_client import Change, OkeyClient
from services.okeyctl.table_text import person_name, seat_name, table_lines, tile_text

Say = Callable[[str], None]
"""Shows some lines at the terminal."""

_SHOWN_TURNS: Final = 16


class Names:
    """The names at a table, also of players who have gone since."""

    def __init__(self) -> None:
        self._by_seat: dict[int, str] = {}
        self._by_player: dict[str, str] = {}

    def learn(self, seats: Sequence[table_pb2.SeatView]) -> None:
        """Take over who sits there now."""
        # A seat keeps the name of its last owner: the row that ends a match may free it too.
        self._by_seat |= {
            seat.seat: seat_name(seat) for seat in seats if seat.control != table_pb2.CONTROL_NOBODY
        }
        self._by_player |= {seat.player: seat_name(seat) for seat in seats if seat.player}

    def at(self, seat: int) -> str:
        """Who sits there, or sat there last."""
        return self._by_seat.get(seat, f"seat {seat}")

    def of(self, player: str) -> str:
        """What a player is called."""
        return self._by_player.get(player) or person_name(player)


class Spectator:
    """Watches one table; ``seen`` counts its events by their kind, such as ``match_ended``."""

    def __init__(self, client: OkeyClient, title: str, say: Say) -> None:
        self.seen: Final[Counter[str]] = Counter()
        self._client = client
        self._title = title
        self._say = say
        self._names = Names()

    async def watch(self, table_id: str) -> None:
        """Follow the table until it closes."""
        async for change in self._client.table(table_id).follow(adds_nonces=False):
            self._take(change)

    def _take(self, change: Change) -> None:
        self._names.learn(change.view.seats)
        news = []
        is_frame = False
        for event in change.events:
            kind = event.WhichOneof("event") or "unknown"
            self.seen[kind] += 1
            text = _told(event, self._names)
            if text:
                news.append(text)
            is_frame |= kind == "round_dealt"
            is_frame |= kind == "turn_started" and self.seen[kind] % _SHOWN_TURNS == 0
        lines = [f"[{self._title}] {text}" for text in news]
        if is_frame:
            lines += [f"[{self._title}]   {line}" for line in table_lines(change.view)]
        if lines:
            self._say("\n".join(lines))


def _told(event: events_pb2.Event, names: Names) -> str:
    """The event in words; "" for what happens all the time."""
    kind = event.WhichOneof("event") or ""
    words = _WORDS.get(kind)
    return words(event, names) if words is not None else ""


def _started(event: events_pb2.Event, names: Names) -> str:
    started = event.match_started
    return f"match {started.match_no} starts: pot {started.pot}, kasa {started.kasa}"


def _timed_out(event: events_pb2.Event, names: Names) -> str:
    timed_out = event.turn_timed_out
    return f"{names.at(timed_out.seat)} ran out of time ({timed_out.count})"


def _forfeited(event: events_pb2.Event, names: Names) -> str:
    forfeited = event.seat_forfeited
    return f"{names.of(forfeited.player)} gave up; seat {forfeited.seat} is the house's now"


def _round_ended(event: events_pb2.Event, names: Names) -> str:
    ended = event.round_ended
    if ended.result != events_pb2.ROUND_RESULT_WON:
        result = events_pb2.RoundResult.Name(ended.result).removeprefix("ROUND_RESULT_").lower()
        return f"round {ended.round_no} ends without a winner ({result})"
    finish = common_pb2.FinishKind.Name(ended.finish).removeprefix("FINISH_KIND_").lower()
    hand = " ".join(map(tile_text, sorted(ended.racks[ended.seat].tiles)))
    return (
        f"{names.at(ended.seat)} lays {tile_text(ended.laid)} on the gösterge and finishes "
        f"round {ended.round_no} ({finish}): {hand}"
    )


def _match_ended(event: events_pb2.Event, names: Names) -> str:
    ended = event.match_ended
    kind = events_pb2.OutcomeKind.Name(ended.kind).removeprefix("OUTCOME_KIND_").lower()
    winner = f": {names.at(ended.winner)} wins" if ended.winner >= 0 else ""
    points = f", points {'/'.join(map(str, ended.points))}" if ended.points else ""
    return f"match over, {kind}{winner}{points}, kasa {ended.kasa}"


def _closed(event: events_pb2.Event, names: Names) -> str:
    reason = events_pb2.CloseReason.Name(event.table_closed.reason)
    return f"the table closes ({reason.removeprefix('CLOSE_REASON_').lower()})"


_WORDS: Final[dict[str, Callable[[events_pb2.Event, Names], str]]] = {
    "match_started": _started,
    "turn_timed_out": _timed_out,
    "stand_in_seated": lambda event, names: (
        f"an AI minds the seat of {names.at(event.stand_in_seated.seat)}"
    ),
    "player_returned": lambda event, names: f"{names.at(event.player_returned.seat)} is back",
    "seat_forfeited": _forfeited,
    "cift_announced": lambda event, names: f"{names.at(event.cift_announced.seat)} announces çift",
    "gosterge_shown": lambda event, names: (
        f"{names.at(event.gosterge_shown.seat)} shows the gösterge"
    ),
    "round_ended": _round_ended,
    "tie_break_started": lambda event, names: (
        f"tie-break between {', '.join(map(names.at, event.tie_break_started.contenders))}"
    ),
    "match_ended": _match_ended,
    "nachspiel_started": lambda event, names: "Nachspiel: who plays on?",
    "table_closed": _closed,
}

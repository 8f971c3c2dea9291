"""A finished round in full, and its commitment; what is not finished is shown to nobody (T9)."""

from collections.abc import Sequence
from dataclasses import dataclass

from okey.table import events as e
from services.engine.errors import NoSuchRound, RoundNotEnded
from services.engine.record import Row


@dataclass(frozen=True, slots=True)
class FinishedRound:
    """The rows from the deal to the round's end, with only the events between; ``players`` by seat
    as the match started, empty for a house seat.
    """

    match_id: str
    players: tuple[str, ...]
    commitment: bytes
    rows: tuple[Row, ...]


def find_round(rows: Sequence[Row], match_no: int, round_no: int) -> FinishedRound:
    """The round of this number of the match of this number.

    Raises:
        NoSuchRound: it was not dealt here.
        RoundNotEnded: it is being played.
    """
    commitment, match_id, is_match, found = b"", "", False, list[Row]()
    players: tuple[str, ...] = ()
    for row in rows:
        events: list[e.Event] = []
        for event in row.events:
            if isinstance(event, e.MatchStarted):
                is_match, match_id = event.match_no == match_no, event.match_id
                players = event.players
            is_deal = isinstance(event, e.RoundDealt) and event.round_no == round_no and is_match
            if is_deal or found or events:
                events.append(event)
            if isinstance(event, e.MatchVoided) and events:
                raise RoundNotEnded(
                    f"round {round_no} of match {match_no} was voided: the key that it was "
                    "encrypted with is lost, so nobody can show it (M10)"
                )
            if isinstance(event, e.RoundEnded) and events:
                found.append(Row(row.seq, row.at_ms, tuple(events)))
                return FinishedRound(match_id, players, commitment, tuple(found))
            if not (found or events):
                commitment = _sealed(event) or commitment
        if events:
            found.append(Row(row.seq, row.at_ms, tuple(events)))
    if found:
        raise RoundNotEnded(f"round {round_no} of match {match_no} is being played; ask at its end")
    raise NoSuchRound(f"there is no round {round_no} of match {match_no} at this table")


def _sealed(event: e.Event) -> bytes:
    """The commitment that an event publishes for the next round."""
    if isinstance(event, e.TableOpened | e.RoundEnded | e.MatchVoided):
        return event.sealed.commitment
    return b""

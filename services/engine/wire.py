"""Views, prompts and updates as messages: what one viewer gets of a table's state and rows."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final, get_args

from okey.api.common.v1 import common_pb2
from okey.api.engine.v1 import engine_pb2, table_pb2
from okey.api.events.v1 import events_pb2
from okey.table import events as e
from okey.table.public import PublicEvent, public_event
from okey.table.state import TableState
from okey.table.view import SPECTATOR, TableView, takeable, view
from okey_runtime.codec import UnionCodec, encode
from services.engine.record import Row

_EVENTS: Final = UnionCodec(get_args(PublicEvent), events_pb2.Event, oneof="event", prefix="Public")


def view_message(
    state: TableState, viewer: int, seq: int, now_ms: int, names: Mapping[str, str]
) -> table_pb2.TableView:
    """The table as the viewer (a seat, or SPECTATOR) sees it."""
    return named_view(view(state, viewer), seq, now_ms, names)


def named_view(
    seen: TableView, seq: int, now_ms: int, names: Mapping[str, str]
) -> table_pb2.TableView:
    """A view as a message, with display names, cursor and the engine's time."""
    message = encode(seen, table_pb2.TableView)
    message.seq = seq
    message.server_time_ms = now_ms
    for seat in message.seats:
        seat.display_name = names.get(seat.player, "")
    return message


def prompt_message(seen: TableView) -> engine_pb2.Prompt:
    """What the viewer may do now."""
    prompt = engine_pb2.Prompt(
        phase=table_pb2.Phase.ValueType(seen.phase),
        legal_actions=[table_pb2.LegalAction.ValueType(action) for action in seen.legal_actions],
        forfeit_price=seen.forfeit_price,
        viewer=seen.viewer,
    )
    if seen.round is not None:
        if seen.round.turn is not None:
            prompt.turn.CopyFrom(encode(seen.round.turn, table_pb2.TurnView))
        prompt.stock_count = seen.round.stock_count
        if seen.round.takeable is not None:
            prompt.takeable = common_pb2.Tile.ValueType(seen.round.takeable)
    return prompt


def moment_message(state: TableState) -> engine_pb2.Prompt:
    """The part of a prompt that is the same for everybody: where the table stands."""
    # Field by field, which takes a third of what the codec does: it is made for every row.
    prompt = engine_pb2.Prompt(phase=table_pb2.Phase.ValueType(state.phase))
    running = state.round
    if running is None:
        return prompt
    prompt.stock_count = len(running.stock)
    prompt.takeable = common_pb2.Tile.ValueType(takeable(running) or 0)
    if (turn := running.turn) is not None:
        seen = prompt.turn
        seen.number, seen.seat = turn.number, turn.seat
        seen.deadline_ms, seen.has_drawn = turn.deadline_ms, turn.drawn is not None
    return prompt


def event_message(event: e.Event, viewer: int) -> events_pb2.Event:
    """The event as the viewer (a seat, SPECTATOR or REVEALED) may see it."""
    return public_message(public_event(event, viewer))


def public_message(event: object) -> events_pb2.Event:
    """What somebody may see of an event, as a message."""
    return _EVENTS.encode(event)


def update_message(
    row: Row, viewers: Sequence[int], now_ms: int, names: Mapping[str, str]
) -> engine_pb2.TableUpdate:
    """A row without prompt and view; ``viewers`` says for each event who sees it."""
    pairs = zip(row.events, viewers, strict=True)
    return engine_pb2.TableUpdate(
        seq=row.seq,
        server_time_ms=now_ms,
        events=[event_message(event, viewer) for event, viewer in pairs],
        display_names=names_shown(row, names),
    )


def names_shown(row: Row, names: Mapping[str, str]) -> dict[str, str]:
    """The display names of those who sit down in the row, by player."""
    return {
        event.player: names[event.player]
        for event in row.events
        if isinstance(event, e.SeatRequested) and event.player in names
    }


def viewers_along(events: Sequence[e.Event], player: str, seat: int) -> Iterator[int]:
    """As whom the player sees each event, having owned ``seat`` (or none) before the first.

    Sitting down counts from its own event on; leaving, being declined and giving up make a
    spectator of the former owner from the next event on.
    """
    viewer = seat
    for event in events:
        if isinstance(event, e.SeatRequested) and event.player == player:
            viewer = event.seat
        yield viewer
        if (
            isinstance(event, e.SeatVacated | e.SeatDeclined | e.SeatForfeited)
            and event.player == player
        ):
            viewer = SPECTATOR

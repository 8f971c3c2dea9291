"""A small true history, made by playing one table by hand; tests spoil it one thing at a time."""

from collections import Counter
from collections.abc import Sequence

from okey.api.engine.v1 import engine_pb2, table_pb2
from okey.table import commands as c
from okey.table import events as e
from okey.table.state import TableState, seated_players
from okey.table.view import SPECTATOR
from services.engine.record import Request, Row
from services.engine.wire import event_message, view_message, viewers_along
from tests.chaos.tables.history import (
    Asked,
    ClientHistory,
    Ended,
    History,
    Opened,
    Outage,
    Snapshot,
    Update,
)
from tests.chaos.tables.replay import Step, replay
from tests.driver import Driver
from tests.factories import PLAYERS, TABLE_ID, canak

OUTAGE_MS = 40_000
CLOSED = engine_pb2.StreamEndReason.Name(engine_pb2.STREAM_END_REASON_TABLE_CLOSED)


class RecordedTable(Driver):
    """Keeps the row of each command, as the engine stores it."""

    def __init__(self) -> None:
        super().__init__(canak())
        self.rows: list[Row] = []

    def do(self, command: c.Command) -> tuple[e.Event, ...]:
        events = super().do(command)
        seq = len(self.rows) + 1
        player = getattr(command, "player", "")
        request = Request(player, f"request-{seq}", b"") if player else None
        self.rows.append(Row(seq, self.now_ms, events, request))
        return events


def true_history() -> History:
    """Two players and a spectator see a match with an outage in the second turn, to its end."""
    table = RecordedTable()
    table.do(c.OpenTable(table.config, PLAYERS[0]))
    table.do(c.TakeSeat(PLAYERS[1]))
    table.pay()
    table.do(c.AddNonce(PLAYERS[0], b"n" * 32))
    table.start()
    table.wait(2_000)
    table.pass_turn()
    outage = _outage(table)
    table.draw()
    table.wait(1_000)
    table.discard()
    table.time_out()
    table.do(c.Forfeit(PLAYERS[0]))
    table.do(c.Forfeit(PLAYERS[1]))
    table.settle()
    steps = replay(table.rows)
    clients = [*(client_of(player, steps) for player in PLAYERS[:2]), client_of("guest", steps)]
    _sleeper(clients, table).overslept.add(_timed_out_turn(steps))
    return History([outage], 2_500, clients, {TABLE_ID: table.rows}, _booked(table.events))


def _outage(table: RecordedTable) -> Outage:
    """The engine dies ten seconds into a turn and comes back later; renewed just before."""
    table.wait(10_000)
    alive_ms = table.now_ms
    table.wait(OUTAGE_MS)
    table.do(c.TakeOver("engine", alive_ms))
    return Outage("engine", "killed", alive_ms, table.now_ms)


def client_of(player: str, steps: Sequence[Step]) -> ClientHistory:
    """What an undisturbed client of the table hears and asks; a seatless one is a spectator."""
    first = steps[0]
    assert first.after is not None
    client = ClientHistory(
        player, TABLE_ID, is_spectator=all(player not in seated_players(s.after) for s in steps)
    )
    client.heard += [Opened(first.row.at_ms, None), snapshot_of(player, first)]
    client.heard += [update_of(player, step) for step in steps[1:]]
    client.heard.append(Ended(steps[-1].row.at_ms, CLOSED))
    for step in steps:
        request = step.row.request
        if request is not None and request.player == player:
            drawn = [int(x.tile or 0) for x in step.row.events if isinstance(x, e.TileDrawn)]
            asked = Asked("command", request.request_id, step.row.at_ms, drawn=sum(drawn))
            asked.seqs.append(step.row.seq)
            client.asked.append(asked)
    return client


def snapshot_of(player: str, step: Step) -> Snapshot:
    """A look at the table right after the row."""
    view = view_message(step.after, step.after.seat_of(player), step.row.seq, step.row.at_ms, {})
    return seen_snapshot(view)


def seen_snapshot(view: table_pb2.TableView) -> Snapshot:
    """A snapshot as it came over the wire."""
    wire = engine_pb2.WatchTableResponse(snapshot=view).SerializeToString()
    return Snapshot(view.server_time_ms, view, wire)


def update_of(player: str, step: Step) -> Update:
    """The row as it is sent to the player."""
    seat = step.before.seat_of(player) if step.before is not None else SPECTATOR
    viewers = viewers_along(step.row.events, player, seat)
    events = [event_message(*pair) for pair in zip(step.row.events, viewers, strict=True)]
    update = engine_pb2.TableUpdate(
        seq=step.row.seq, server_time_ms=step.row.at_ms, events=events, prompt=_prompt(step.after)
    )
    return seen_update(update)


def seen_update(update: engine_pb2.TableUpdate) -> Update:
    """A row as it came over the wire."""
    wire = engine_pb2.WatchTableResponse(update=update).SerializeToString()
    return Update(update.server_time_ms, update, wire)


def _prompt(state: TableState) -> engine_pb2.Prompt:
    """The running turn; nothing else of a prompt is checked."""
    turn = state.round.turn if state.round is not None else None
    if turn is None:
        return engine_pb2.Prompt()
    seen = table_pb2.TurnView(number=turn.number, seat=turn.seat, deadline_ms=turn.deadline_ms)
    return engine_pb2.Prompt(turn=seen)


def _timed_out_turn(steps: Sequence[Step]) -> int:
    for step in steps:
        if any(isinstance(event, e.TurnTimedOut) for event in step.row.events):
            assert step.before is not None
            assert step.before.round is not None
            assert step.before.round.turn is not None
            return step.before.round.turn.number
    raise AssertionError("no turn timed out")


def _sleeper(clients: Sequence[ClientHistory], table: RecordedTable) -> ClientHistory:
    """Whose turn timed out."""
    (timed_out,) = [event for event in table.events if isinstance(event, e.TurnTimedOut)]
    return clients[timed_out.seat]


def _booked(events: Sequence[e.Event]) -> Counter[tuple[str, str]]:
    """What a right wallet books for them."""
    booked: Counter[tuple[str, str]] = Counter()
    for event in events:
        match event:
            case e.MatchStarted():
                booked["start", event.match_id] += 1
            case e.SeatForfeited():
                booked["forfeit", event.match_id] += 1
            case e.MatchEnded():
                booked["settle", event.match_id] += 1
            case _:
                continue
    return booked

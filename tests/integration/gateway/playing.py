"""Playing a seat over the WebSocket as a page does: look at the newest view, do what is due."""

from google.protobuf.json_format import MessageToDict, ParseDict

from okey.api.engine.v1 import table_pb2
from okey.rules.variant import BotLevel
from okey_client import action_due, action_message
from tests.integration.gateway.stand import Browser, Frame

OVER = (table_pb2.PHASE_SETTLING, table_pb2.PHASE_NACHSPIEL, table_pb2.PHASE_CLOSED)
LATE = {"TURN_OVER", "TURN_EXPIRED", "NOT_YOUR_TURN", "STAND_IN_PLAYS", "TABLE_CLOSED"}
LATE |= {"ALREADY_DRAWN", "MUST_DRAW_FIRST", "NOT_SEATED"}


def view_of(frame: Frame) -> table_pb2.TableView | None:
    """The view that a frame carries."""
    table = frame.get("table", {})
    view = table.get("snapshot") or table.get("update", {}).get("view")
    return None if view is None else ParseDict(view, table_pb2.TableView())


def seq_of(frame: Frame) -> int:
    """The row that a frame tells of; 0 for other frames."""
    table = frame.get("table", {})
    return int(table.get("snapshot", table.get("update", {})).get("seq", 0))


async def play_match(player: Browser, until_seq: int = 0) -> list[Frame]:
    """Play until the match is over, or to a row; every frame that came."""
    frames = []
    while True:
        frame = await player.hear()
        frames.append(frame)
        view = view_of(frame)
        if view is None:
            refusal = frame.get("table", {}).get("result", {}).get("error", {})
            assert refusal.get("reason", "") in LATE | {""}, refusal
            continue
        if view.phase in OVER or 0 < until_seq <= view.seq:
            return frames
        action = action_due(view, BotLevel.NORMAL, 7)
        if action is not None:
            said = MessageToDict(action_message(action), preserving_proto_field_name=True)
            turn = view.round.turn.number
            act = {"request_id": f"turn-{view.seq}-{turn}", "turn": turn, "action": said}
            await player.say(play={"act": act})

"""Tables over the WebSocket."""

from google.protobuf.json_format import MessageToDict, ParseDict

from okey.api.engine.v1 import table_pb2
from okey.rules.variant import BotLevel
from okey_client import action_due, action_message
from okey_runtime.server import ServiceServer
from tests.integration.gateway.stand import Browser, Frame, Stand, browser, rpc

SOLO = {"terms": {"mode": "MODE_SOLO", "seat_count": 2, "stake": 100}}
LATE = {"TURN_OVER", "TURN_EXPIRED", "NOT_YOUR_TURN", "STAND_IN_PLAYS", "TABLE_CLOSED"}
LATE |= {"ALREADY_DRAWN", "MUST_DRAW_FIRST", "NOT_SEATED"}


async def open_solo(gateway: ServiceServer, token: str, name: str = "solo-table") -> str:
    made = await rpc(gateway, token, "LobbyService/CreateTable", request_id=name, **SOLO)
    table_id: str = made["table_id"]
    return table_id


def view_of(frame: Frame) -> table_pb2.TableView | None:
    """The view that a frame carries."""
    table = frame.get("table", {})
    view = table.get("snapshot") or table.get("update", {}).get("view")
    return None if view is None else ParseDict(view, table_pb2.TableView())


async def play_match(player: Browser) -> list[Frame]:
    """Play until the match is over; every frame that came."""
    frames = []
    while True:
        frame = await player.hear()
        frames.append(frame)
        view = view_of(frame)
        if view is None:
            refusal = frame.get("table", {}).get("result", {}).get("error", {})
            assert refusal.get("reason", "") in LATE | {""}, refusal
            continue
        if view.phase in (table_pb2.PHASE_NACHSPIEL, table_pb2.PHASE_CLOSED):
            return frames
        action = action_due(view, BotLevel.NORMAL, 7)
        if action is not None:
            said = MessageToDict(action_message(action), preserving_proto_field_name=True)
            turn = view.round.turn.number
            act = {"request_id": f"turn-{view.seq}-{turn}", "turn": turn, "action": said}
            await player.say(play={"act": act})


async def test_a_whole_solo_match_is_played_over_the_websocket(
    world: Stand, gateway: ServiceServer
) -> None:
    token = world.issuer.token("ada", name="Ada")
    table_id = await open_solo(gateway, token)
    async with browser(gateway, token, table_id=table_id, with_view=True) as ada:
        welcome = (await ada.hear())["welcome"]
        assert (welcome["player_id"], welcome["name"]) == ("ada", "Ada")
        frames = await play_match(ada)
    seqs = [int(frame["table"]["update"]["seq"]) for frame in frames if "update" in frame["table"]]
    assert seqs == list(range(seqs[0], seqs[0] + len(seqs)))
    results = [frame["table"]["result"] for frame in frames if "result" in frame["table"]]
    assert len(results) > 4
    assert any(int(result["seq"]) > 0 for result in results)

"""JSON of browsers becomes protobuf messages, or is refused by name, whatever it is."""

import pytest

from okey.api.engine.v1 import engine_pb2
from okey.api.lobby.v1 import lobby_pb2
from okey_runtime.auth import _MAX_TOKEN_CHARS
from okey_runtime.errors import InvalidField, MalformedRequest
from okey_runtime.request_size import largest
from services.gateway.offered import OFFERED
from services.gateway.web_server import MAX_FRAME_BYTES
from services.gateway.wire import from_json, most_json_bytes, read_object


def test_numbers_come_as_numbers_or_as_text() -> None:
    for seq in ('"41"', "41"):
        content = read_object(f'{{"table_id": "t", "after_seq": {seq}}}')
        attach = from_json(content, engine_pb2.Attach())
        assert (attach.table_id, attach.after_seq) == ("t", 41)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "nothing",
        "[]",
        "7",
        '{"attach": {"table_id": 7}}',
        '{"attach": {"after_seq": 1e400}}',
        '{"attach": {"after_seq": 1.5}}',
        '{"attach": {"tableId": "t", "x": 1}}',
        '{"dance": {}}',
        '{"act": {}, "forfeit": {}}',
        '{"act": {"action": {"discard": {"tile": "TILE_Z9"}}}}',
        "[" * 60_000,
    ],
)
def test_what_is_no_such_message_is_refused(text: str) -> None:
    with pytest.raises(MalformedRequest):
        from_json(read_object(text), engine_pb2.PlayRequest())


@pytest.mark.parametrize("empty", ["null", "false", "0", '""', "[]"])
def test_an_empty_field_of_a_newer_page_says_nothing(empty: str) -> None:
    content = read_object(f'{{"attach": {{"table_id": "t", "newer": {empty}}}, "other": {empty}}}')
    assert from_json(content, engine_pb2.PlayRequest()).attach.table_id == "t"


def test_a_call_that_reads_ignores_what_it_does_not_know() -> None:
    """At every depth; a call that changes something would leave out what was asked for."""
    content = {"seat_count": 2, "newer": 7, "page": {"x": 1}}
    assert from_json(content, lobby_pb2.ListTablesRequest(), is_reading=True).seat_count == 2
    with pytest.raises(MalformedRequest, match="newer"):
        from_json({"newer": 7}, lobby_pb2.CreateTableRequest())
    with pytest.raises(MalformedRequest, match="newer"):
        from_json({"terms": {"newer": 7}}, lobby_pb2.CreateTableRequest())


def test_a_reading_call_is_known_by_its_name() -> None:
    changing = {name.partition("/")[2] for name, rpc in OFFERED.items() if not rpc.is_reading}
    assert changing == {
        "CreateTable", "JoinTable", "LeaveTable", "EnqueueTicket", "CancelTicket", "LeaveSeat",
        "AddNonce", "Act", "Forfeit", "ReturnToSeat", "PlayOn", "ClaimMatch",
    }  # fmt: skip


@pytest.mark.parametrize("name", ["player_ids", "playerIds"])
def test_a_list_longer_than_its_field_allows_is_refused_unparsed(name: str) -> None:
    """Its items are no ids: were they parsed, that would be said instead."""
    request = engine_pb2.GetDisplayNamesRequest()
    with pytest.raises(InvalidField, match="at most 200 items, this one has 201"):
        from_json({name: [7] * 201}, request)
    assert len(from_json({name: ["ayse"] * 200}, request).player_ids) == 200


def test_the_longest_json_of_a_call_is_derived_from_its_message() -> None:
    most = {name: most_json_bytes(rpc.path) for name, rpc in OFFERED.items()}
    assert most["TableService/GetTable"] == 4 << 10
    assert most["TableService/GetDisplayNames"] == 40 << 10
    assert all(most[name] <= 6 << 10 for name in most if not name.endswith(("Names", "Ratings")))


def test_every_frame_that_keeps_the_rules_fits_and_none_is_much_larger() -> None:
    hello = _MAX_TOKEN_CHARS + 3 * largest(engine_pb2.Attach.DESCRIPTOR) + 1_024
    play = most_json_bytes("/okey.api.engine.v1.TableService/Play")
    watch = most_json_bytes("/okey.api.lobby.v1.LobbyService/WatchTables")
    assert max(hello, play, watch) <= MAX_FRAME_BYTES <= 8 << 10

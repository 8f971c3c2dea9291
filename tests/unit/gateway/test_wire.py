"""JSON of browsers becomes protobuf messages, or is refused by name, whatever it is."""

import pytest

from okey.api.engine.v1 import engine_pb2
from okey_runtime.errors import MalformedRequest
from services.gateway.wire import from_json, read_object


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
        '{"act": {}, "forfeit": {}}',
        '{"act": {"action": {"discard": {"tile": "TILE_Z9"}}}}',
        "[" * 60_000,
    ],
)
def test_what_is_no_such_message_is_refused(text: str) -> None:
    with pytest.raises(MalformedRequest):
        from_json(read_object(text), engine_pb2.PlayRequest())

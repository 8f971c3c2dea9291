"""``okeyctl shards``: what is shown of engines and shards."""

import json
from io import StringIO

from rich.console import Console

from okey.api.engine.v1 import engine_pb2
from services.okeyctl.shards import as_object, show, spans

ANSWER = engine_pb2.ListShardsResponse(
    engines=[
        engine_pb2.EngineMember(
            engine="one", address="h:1", lease_left_ms=4_200, is_taking=True, shards=3, tables=9
        ),
        engine_pb2.EngineMember(engine="two", address="h:2", lease_left_ms=900, shards=1, tables=2),
        engine_pb2.EngineMember(engine="dead", address="h:3", is_taking=True, shards=1),
    ],
    shards=[
        engine_pb2.ShardPlace(shard=0, engine="one", tables=4),
        engine_pb2.ShardPlace(shard=1, engine="one", tables=5),
        engine_pb2.ShardPlace(shard=2, engine="two", tables=2, is_pinned=True),
        engine_pb2.ShardPlace(shard=3, engine="one"),
        engine_pb2.ShardPlace(shard=4),
    ],
)


def test_each_engine_has_a_line_and_what_is_wrong_is_said() -> None:
    out = Console(file=StringIO(), width=120)
    show(ANSWER, out)
    assert isinstance(out.file, StringIO)
    lines = [" ".join(line.split()) for line in out.file.getvalue().splitlines()]
    assert lines == [
        "engine address shards tables lease which",
        "one h:1 3 9 4.2 s 0-1, 3",
        "two h:2 1 2 0.9 s, takes none 2",
        "dead h:3 1 0 ended",
        "No living engine has 4.",
        "Moved by an operator, not balanced away: 2.",
    ]


def test_the_same_as_json() -> None:
    told = json.loads(as_object(ANSWER))
    assert told["engines"][0] == {
        "engine": "one",
        "address": "h:1",
        "lease_left_ms": 4_200,
        "is_taking": True,
        "shards": 3,
        "tables": 9,
    }
    assert told["shards"][4] == {"shard": 4, "engine": "", "is_pinned": False, "tables": 0}


def test_numbers_in_a_row_are_one_span() -> None:
    assert spans([0, 1, 2, 5, 7, 8]) == "0-2, 5, 7-8"
    assert spans([]) == ""

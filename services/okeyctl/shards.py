"""``okeyctl shards``: which engine has which tables, and moving them."""

import json
from typing import Annotated, Final

import typer
from rich.console import Console
from rich.table import Table

from okey.api.engine.v1 import engine_pb2, engine_pb2_grpc
from services.okeyctl.asking import TIMEOUT_S, ask
from services.okeyctl.connecting import calls
from services.okeyctl.ending import Output
from services.okeyctl.options import AsJson, EngineName
from services.okeyctl.reach import Reach

_STUB: Final = engine_pb2_grpc.OperatorServiceStub

app = typer.Typer(
    help="See which engine has which tables, move them.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


@app.command("list")
@calls("engine")
def list_shards(way: Reach, as_json: AsJson = False) -> None:
    """List the engines and the shards that each has."""
    request = engine_pb2.ListShardsRequest()
    answer = ask(way, _STUB, lambda stub: stub.ListShards(request, timeout=TIMEOUT_S))
    if as_json:
        print(as_object(answer))
    else:
        show(answer, Output())


@app.command("move")
@calls("engine")
def move_shard(
    way: Reach,
    shard: Annotated[int, typer.Argument(metavar="SHARD", min=0, max=255, help="Its number.")],
    to: EngineName,
    as_json: AsJson = False,
) -> None:
    """Hand a shard over to an engine.

    It stays there for as long as that engine lives.
    """
    request = engine_pb2.MoveShardRequest(shard=shard, engine=to)
    moved = ask(way, _STUB, lambda stub: stub.MoveShard(request, timeout=TIMEOUT_S))
    if as_json:
        print(json.dumps({"shard": shard, "engine": to, "address": moved.address}))
    else:
        print(f"Shard {shard} is at {to} now ({moved.address}); it is not balanced away.")


@app.command("drain")
@calls("engine")
def drain_engine(way: Reach, name: EngineName, as_json: AsJson = False) -> None:
    """Make an engine hand its tables over and end.

    Whoever minds its process starts a fresh one, as Kubernetes and `make cluster` do.
    """
    request = engine_pb2.DrainRequest(engine=name)
    answer = ask(way, _STUB, lambda stub: stub.Drain(request, timeout=TIMEOUT_S))
    if as_json:
        print(json.dumps({"engine": answer.engine, "tables": answer.tables}))
    else:
        print(f"{answer.engine} hands its {answer.tables} tables over and ends.")


def as_object(answer: engine_pb2.ListShardsResponse) -> str:
    """The answer as one JSON object."""
    return json.dumps(
        {
            "engines": [
                {
                    "engine": member.engine,
                    "address": member.address,
                    "lease_left_ms": member.lease_left_ms,
                    "is_taking": member.is_taking,
                    "shards": member.shards,
                    "tables": member.tables,
                }
                for member in answer.engines
            ],
            "shards": [
                {
                    "shard": place.shard,
                    "engine": place.engine,
                    "is_pinned": place.is_pinned,
                    "tables": place.tables,
                }
                for place in answer.shards
            ],
        }
    )


def show(answer: engine_pb2.ListShardsResponse, out: Console) -> None:
    """The answer for a person: a line an engine, and what is not as it should be."""
    table = Table("engine", "address", "shards", "tables", "lease", "which", box=None)
    for member in answer.engines:
        lease = f"{member.lease_left_ms / 1000:.1f} s" if member.lease_left_ms else "ended"
        if member.lease_left_ms and not member.is_taking:
            lease += ", takes none"
        table.add_row(
            member.engine,
            member.address,
            str(member.shards),
            str(member.tables),
            lease,
            spans([p.shard for p in answer.shards if p.engine == member.engine]),
        )
    out.print(table)
    free = [place.shard for place in answer.shards if not place.engine]
    if free:
        out.print(f"No living engine has {spans(free)}.")
    pinned = [place.shard for place in answer.shards if place.is_pinned]
    if pinned:
        out.print(f"Moved by an operator, not balanced away: {spans(pinned)}.")


def spans(shards: list[int]) -> str:
    """Numbers in order as text: ``0-3, 7``."""
    found: list[tuple[int, int]] = []
    for shard in shards:
        if found and found[-1][1] == shard - 1:
            found[-1] = (found[-1][0], shard)
        else:
            found.append((shard, shard))
    return ", ".join(str(a) if a == b else f"{a}-{b}" for a, b in found)

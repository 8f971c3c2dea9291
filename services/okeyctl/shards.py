"""``okeyctl shards``: which engine has which tables, and moving them."""

import json
from typing import Annotated, Final

import typer
from rich.console import Console
from rich.table import Table

from okey.api.engine.v1 import engine_pb2, engine_pb2_grpc
from okey_runtime.dev_platform import DEFAULT_DATA_DIR
from services.okeyctl.asking import TIMEOUT_S, ask
from services.okeyctl.ending import Output, refusals
from services.okeyctl.options import DataDir, EngineAddress, TokenFile
from services.okeyctl.reach import reach

_STUB: Final = engine_pb2_grpc.OperatorServiceStub

AsJson = Annotated[bool, typer.Option("--json", help="One JSON object.")]

app = typer.Typer(
    help="Which engine has which tables; moving them.", no_args_is_help=True, rich_markup_mode=None
)


@app.command("list")
def list_shards(
    data_dir: DataDir = DEFAULT_DATA_DIR,
    engine: EngineAddress = None,
    token_file: TokenFile = None,
    as_json: AsJson = False,
) -> None:
    """The engines and their shards, as any engine of the platform knows them."""
    with refusals():
        way = reach("engine", data_dir, engine, token_file)
        request = engine_pb2.ListShardsRequest()
        answer = ask(way, _STUB, lambda stub: stub.ListShards(request, timeout=TIMEOUT_S))
    if as_json:
        print(as_object(answer))
    else:
        show(answer, Output())


@app.command("move")
def move_shard(
    shard: Annotated[int, typer.Argument(min=0, max=255, help="Its number.")],
    to: Annotated[str, typer.Argument(help="The name of the engine that shall have it.")],
    data_dir: DataDir = DEFAULT_DATA_DIR,
    engine: EngineAddress = None,
    token_file: TokenFile = None,
    as_json: AsJson = False,
) -> None:
    """Hand a shard over to an engine, where it stays for as long as that lives."""
    with refusals():
        way = reach("engine", data_dir, engine, token_file)
        request = engine_pb2.MoveShardRequest(shard=shard, engine=to)
        moved = ask(way, _STUB, lambda stub: stub.MoveShard(request, timeout=TIMEOUT_S))
    if as_json:
        print(json.dumps({"shard": shard, "engine": to, "address": moved.address}))
    else:
        print(f"Shard {shard} is at {to} now ({moved.address}); it is not balanced away.")


@app.command("drain")
def drain_engine(
    name: Annotated[str, typer.Argument(help="The engine's name.")],
    data_dir: DataDir = DEFAULT_DATA_DIR,
    engine: EngineAddress = None,
    token_file: TokenFile = None,
    as_json: AsJson = False,
) -> None:
    """Make an engine hand its shards over and end; whoever minds it starts a fresh one."""
    with refusals():
        way = reach("engine", data_dir, engine, token_file)
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

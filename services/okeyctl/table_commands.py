"""``okeyctl tables``: look at tables, and what operators do to one that is not as it should be."""

import asyncio
from typing import Annotated

import typer

from okey.api.engine.v1 import engine_pb2, engine_pb2_grpc
from okey.table.errors import TableIsClosed
from okey_runtime.dev_platform import DEFAULT_DATA_DIR
from okey_runtime.errors import RpcFailure
from services.okeyctl import round_commands, void_command
from services.okeyctl import tables as table_views
from services.okeyctl.as_json import json_line
from services.okeyctl.asking import TIMEOUT_S, ask
from services.okeyctl.ending import Output, refusals
from services.okeyctl.live import in_place
from services.okeyctl.options import AsJson, AsJsonLines, DataDir, EngineAddress, Invite, TokenFile
from services.okeyctl.reach import reach
from services.okeyctl.table_text import summary_line, table_lines

Stub = engine_pb2_grpc.OperatorServiceStub

Reason = Annotated[str, typer.Option(help="Why, for the record.")]
TableId = Annotated[str, typer.Argument(metavar="TABLE", help="The table's id.")]

app = typer.Typer(
    help="Tables: look at them, stop them, move them, end them.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
# What it was called first.
app.command("verify", hidden=True)(round_commands.verify)


@app.command("list")
def list_tables(
    as_json: AsJsonLines = False,
    data_dir: DataDir = DEFAULT_DATA_DIR,
    engine: EngineAddress = None,
    token_file: TokenFile = None,
) -> None:
    """The tables that are not closed, one a line."""

    async def show() -> None:
        async for table in table_views.list_tables(way):
            print(json_line(table) if as_json else summary_line(table))

    with refusals():
        way = reach("engine", data_dir, engine, token_file)
        asyncio.run(show())


@app.command("show")
def show_table(
    table_id: TableId,
    as_json: AsJson = False,
    data_dir: DataDir = DEFAULT_DATA_DIR,
    engine: EngineAddress = None,
    token_file: TokenFile = None,
    invite: Invite = "",
) -> None:
    """One table as it is now."""
    with refusals():
        way = reach("engine", data_dir, engine, token_file)
        view = asyncio.run(table_views.show_table(way, table_id, invite))
    print(json_line(view) if as_json else "\n".join(table_lines(view)))


@app.command("watch")
def watch_table(
    table_id: TableId,
    as_json: AsJsonLines = False,
    data_dir: DataDir = DEFAULT_DATA_DIR,
    engine: EngineAddress = None,
    token_file: TokenFile = None,
    invite: Invite = "",
) -> None:
    """One table live, as a spectator sees it, until it closes."""

    async def show() -> None:
        try:
            with in_place(Output()) as tell:
                async for view in table_views.watch_table(way, table_id, invite):
                    if as_json:
                        print(json_line(view), flush=True)
                    else:
                        tell(table_lines(view))
        except RpcFailure as failure:
            # It was voided past its journal: what was shown last is all that there is to see.
            if failure.reason != TableIsClosed.reason:
                raise
            typer.echo(failure.message, err=as_json)

    with refusals():
        way = reach("engine", data_dir, engine, token_file)
        asyncio.run(show())


@app.command("void")
def void_table(
    table_id: TableId,
    reason: Reason,
    as_json: AsJson = False,
    data_dir: DataDir = DEFAULT_DATA_DIR,
    engine: EngineAddress = None,
    token_file: TokenFile = None,
) -> None:
    """End a table: its running match is voided and every stake goes back (M10)."""
    with refusals():
        way = reach("engine", data_dir, engine, token_file)
        response = asyncio.run(void_command.void_table(way, table_id, reason))
    lines = void_command.void_lines(table_id, response)
    print(json_line(response) if as_json else "\n".join(lines))


@app.command()
def quarantine(
    table_id: TableId,
    reason: Reason,
    as_json: AsJson = False,
    data_dir: DataDir = DEFAULT_DATA_DIR,
    engine: EngineAddress = None,
    token_file: TokenFile = None,
) -> None:
    """Make a table stand still until it is released: no moves, no clocks, no money."""
    request = engine_pb2.QuarantineTableRequest(table_id=table_id, reason=reason)
    with refusals():
        way = reach("engine", data_dir, engine, token_file)
        answer = ask(way, Stub, lambda stub: stub.QuarantineTable(request, timeout=TIMEOUT_S))
    text = f"{table_id} stands still; okeyctl tables release {table_id} lets it go on"
    print(json_line(answer) if as_json else text)


@app.command()
def release(
    table_id: TableId,
    as_json: AsJson = False,
    data_dir: DataDir = DEFAULT_DATA_DIR,
    engine: EngineAddress = None,
    token_file: TokenFile = None,
) -> None:
    """Load a table anew from its journal; one that stood still goes on."""
    request = engine_pb2.ReleaseTableRequest(table_id=table_id)
    with refusals():
        way = reach("engine", data_dir, engine, token_file)
        answer = ask(way, Stub, lambda stub: stub.ReleaseTable(request, timeout=TIMEOUT_S))
    print(json_line(answer) if as_json else f"{table_id} goes on after its row {answer.seq}")


@app.command()
def move(
    table_id: TableId,
    to: Annotated[str, typer.Argument(metavar="ENGINE", help="The name of who shall have it.")],
    as_json: AsJson = False,
    data_dir: DataDir = DEFAULT_DATA_DIR,
    engine: EngineAddress = None,
    token_file: TokenFile = None,
) -> None:
    """Hand a table, and all others of its shard, over to another engine."""
    request = engine_pb2.MoveTableRequest(table_id=table_id, engine=to)
    with refusals():
        way = reach("engine", data_dir, engine, token_file)
        answer = ask(way, Stub, lambda stub: stub.MoveTable(request, timeout=TIMEOUT_S))
    print(json_line(answer) if as_json else f"{table_id} is at {to} now ({answer.address})")


@app.command()
def maintenance(
    is_on: Annotated[bool, typer.Option("--on/--off", help="Begin or end it.")],
    as_json: AsJson = False,
    data_dir: DataDir = DEFAULT_DATA_DIR,
    engine: EngineAddress = None,
    token_file: TokenFile = None,
) -> None:
    """Refuse new tables, seats and matches at every engine, or allow them again."""
    request = engine_pb2.SetMaintenanceRequest(is_on=is_on)
    with refusals():
        way = reach("engine", data_dir, engine, token_file)
        answer = ask(way, Stub, lambda stub: stub.SetMaintenance(request, timeout=TIMEOUT_S))
    running = f"{answer.running_matches} matches run"
    text = f"maintenance: nothing new begins; {running}" if is_on else f"no maintenance; {running}"
    print(json_line(answer) if as_json else text)

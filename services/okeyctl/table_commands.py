"""``okeyctl tables``: look at tables, and what operators do to one that is not as it should be."""

import asyncio
from typing import Annotated

import typer

from okey.api.engine.v1 import engine_pb2, engine_pb2_grpc
from okey.table.errors import TableIsClosed
from okey_runtime.errors import RpcFailure
from services.okeyctl import round_commands, void_command
from services.okeyctl import tables as table_views
from services.okeyctl.as_json import json_line
from services.okeyctl.asking import TIMEOUT_S, ask
from services.okeyctl.connecting import calls
from services.okeyctl.ending import Output
from services.okeyctl.live import in_place
from services.okeyctl.options import AsJson, AsJsonLines, EngineName, Invite, Reason, TableId
from services.okeyctl.reach import Reach
from services.okeyctl.table_text import summary_line, table_lines

Stub = engine_pb2_grpc.OperatorServiceStub

app = typer.Typer(
    help="Look at tables, stop them, move them, end them.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
# What it was called first.
app.command("verify", hidden=True)(round_commands.verify)


@app.command("list")
@calls("engine")
def list_tables(way: Reach, as_json: AsJsonLines = False) -> None:
    """List the tables that are not closed, one a line."""

    async def show() -> None:
        async for table in table_views.list_tables(way):
            print(json_line(table) if as_json else summary_line(table))

    asyncio.run(show())


@app.command("show")
@calls("engine")
def show_table(way: Reach, table_id: TableId, invite: Invite = "", as_json: AsJson = False) -> None:
    """Show one table as it is now, as a spectator sees it."""
    view = asyncio.run(table_views.show_table(way, table_id, invite))
    print(json_line(view) if as_json else "\n".join(table_lines(view)))


@app.command("watch")
@calls("engine")
def watch_table(
    way: Reach, table_id: TableId, invite: Invite = "", as_json: AsJsonLines = False
) -> None:
    """Show one table live, until it closes."""

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

    asyncio.run(show())


@app.command("void")
@calls("engine")
def void_table(way: Reach, table_id: TableId, reason: Reason, as_json: AsJson = False) -> None:
    """End a table; every stake goes back.

    Its running match is voided (M10), whoever sits there is free to go elsewhere.
    """
    response = asyncio.run(void_command.void_table(way, table_id, reason))
    lines = void_command.void_lines(table_id, response)
    print(json_line(response) if as_json else "\n".join(lines))


@app.command()
@calls("engine")
def quarantine(way: Reach, table_id: TableId, reason: Reason, as_json: AsJson = False) -> None:
    """Make a table stand still until it is released.

    Nobody moves there, no clock runs, the wallet is told nothing.
    """
    request = engine_pb2.QuarantineTableRequest(table_id=table_id, reason=reason)
    answer = ask(way, Stub, lambda stub: stub.QuarantineTable(request, timeout=TIMEOUT_S))
    text = f"{table_id} stands still; okeyctl tables release {table_id} lets it go on"
    print(json_line(answer) if as_json else text)


@app.command()
@calls("engine")
def release(way: Reach, table_id: TableId, as_json: AsJson = False) -> None:
    """Load a table anew; one that stood still goes on."""
    request = engine_pb2.ReleaseTableRequest(table_id=table_id)
    answer = ask(way, Stub, lambda stub: stub.ReleaseTable(request, timeout=TIMEOUT_S))
    print(json_line(answer) if as_json else f"{table_id} goes on after its row {answer.seq}")


@app.command()
@calls("engine")
def move(way: Reach, table_id: TableId, to: EngineName, as_json: AsJson = False) -> None:
    """Hand a table and its shard over to another engine."""
    request = engine_pb2.MoveTableRequest(table_id=table_id, engine=to)
    answer = ask(way, Stub, lambda stub: stub.MoveTable(request, timeout=TIMEOUT_S))
    print(json_line(answer) if as_json else f"{table_id} is at {to} now ({answer.address})")


@app.command()
@calls("engine")
def maintenance(
    way: Reach,
    is_on: Annotated[bool, typer.Option("--on/--off", help="Begin or end it.")],
    as_json: AsJson = False,
) -> None:
    """Let nothing new begin anywhere, or allow it again.

    New tables, seats and matches are refused at every engine; matches that run go on to their end.
    """
    request = engine_pb2.SetMaintenanceRequest(is_on=is_on)
    answer = ask(way, Stub, lambda stub: stub.SetMaintenance(request, timeout=TIMEOUT_S))
    running = f"{answer.running_matches} matches run"
    text = f"maintenance: nothing new begins; {running}" if is_on else f"no maintenance; {running}"
    print(json_line(answer) if as_json else text)

"""``okeyctl``: the command for operators and integrators; one group of commands a file."""

import asyncio
import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from okey.arena.contest import BOTS, Contest
from okey.rules.rule_set import DEFAULT_RULE_SET
from okey.rules.variant import Mode, Variant
from okey.table.errors import TableIsClosed
from okey_runtime.auth import Role
from okey_runtime.dev_platform import DEFAULT_DATA_DIR, make_dev_key
from okey_runtime.errors import RpcFailure
from services.okeyctl import arena as arenas
from services.okeyctl import audit as audits
from services.okeyctl import hands as hand_lines
from services.okeyctl import (
    player_commands,
    rating_commands,
    round_commands,
    shards,
    ticket_commands,
    void_command,
    wallet_commands,
)
from services.okeyctl import simulate as simulation
from services.okeyctl import tables as table_views
from services.okeyctl.anchors import add_anchors, read_anchors
from services.okeyctl.demo.platform import PlatformDidNotStart
from services.okeyctl.demo.run import DidNotHappen, run_demo
from services.okeyctl.doctor.command import doctor
from services.okeyctl.ending import FINDINGS, Output, failures, refusals, refuse
from services.okeyctl.live import in_place
from services.okeyctl.options import DataDir, EngineAddress, Invite, TokenFile, WalletAddress
from services.okeyctl.reach import dev_token, reach
from services.okeyctl.table_text import summary_line, table_lines

# Typer's Rich help shows flags as if they took a value.
app = typer.Typer(
    help="Operate and integrate an Okey platform.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
)
tables = typer.Typer(
    help="The running tables as text.", no_args_is_help=True, rich_markup_mode=None
)
app.add_typer(tables, name="tables")
app.add_typer(wallet_commands.app, name="wallet")
app.add_typer(rating_commands.app, name="rating")
app.add_typer(player_commands.app, name="player")
app.add_typer(ticket_commands.app, name="tickets")
app.add_typer(shards.app, name="shards")
app.command()(wallet_commands.statement)
app.command()(round_commands.verify)
app.command()(round_commands.replay)
app.command()(doctor)
# What it was called first.
tables.command("verify", hidden=True)(round_commands.verify)


class VariantName(StrEnum):
    """How a variant is written on a command line."""

    CANAK = "canak"
    KLASIK = "klasik"


class ModeName(StrEnum):
    """How a mode is written on a command line."""

    NORMAL = "normal"
    SOLO = "solo"
    ESLI = "esli"


def main() -> None:
    """The console script."""
    with failures():
        app()


@app.callback()
def every_command(ctx: typer.Context) -> None:
    """What all commands have in common: how they end where a file or the output fails."""
    ctx.with_resource(failures())


@app.command()
def hands() -> None:
    """Judge hands: JSON lines {"gosterge": "R7", "tiles": [14 tiles]} in, one answer a line out."""
    sys.exit(hand_lines.run_on(sys.stdin, sys.stdout))


@app.command()
def simulate(
    variant: Annotated[VariantName, typer.Option(help="The game.")] = VariantName.CANAK,
    seats: Annotated[int, typer.Option(help="2 or 4.")] = 4,
    mode: Annotated[ModeName, typer.Option(help="Solo and Eşli are Çanak's.")] = ModeName.NORMAL,
    matches: Annotated[int, typer.Option(min=1, help="How many matches.")] = 100,
    seed: Annotated[int, typer.Option(help="The same seed plays the same matches.")] = 1,
    stake: Annotated[int, typer.Option(help="Chips.")] = DEFAULT_RULE_SET.default_stake,
    start_points: Annotated[int | None, typer.Option(help="Klasik: 3, 5, 10, 15 or 20.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object.")] = False,
) -> None:
    """Play whole matches in this process: outcomes, chips by account, and that they sum to zero."""
    wish = simulation.Wish(
        Variant[variant.name], seats, Mode[mode.name], matches, seed, stake, start_points
    )
    with refusals():
        report = simulation.play(wish, simulation.show_progress(matches))
    if as_json:
        print(simulation.as_json(wish, report))
    else:
        simulation.show(wish, report, Output())
    sys.exit(FINDINGS if report.total else 0)


@app.command()
def arena(
    challenger: Annotated[str, typer.Argument(help=f"One of {', '.join(BOTS)}.")],
    opponent: Annotated[str, typer.Argument(help="Who has the other seats.")],
    variant: Annotated[VariantName, typer.Option(help="The game.")] = VariantName.CANAK,
    seats: Annotated[int, typer.Option(help="2 or 4.")] = 2,
    mode: Annotated[ModeName, typer.Option(help="In Eşli each has a pair.")] = ModeName.NORMAL,
    deals: Annotated[int, typer.Option(min=1, help="Each is played once a seat.")] = 200,
    seed: Annotated[int, typer.Option(help="The same seed deals the same deals.")] = 1,
    stake: Annotated[int, typer.Option(help="Chips.")] = DEFAULT_RULE_SET.default_stake,
    start_points: Annotated[int | None, typer.Option(help="Klasik: 3, 5, 10, 15 or 20.")] = None,
    workers: Annotated[int | None, typer.Option(min=1, help="Processes; else one a core.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object.")] = False,
) -> None:
    """Compare two bots on duplicate deals with the seats rotated; every interval is for 95 %."""
    with refusals():
        table = arenas.table_for(Variant[variant.name], Mode[mode.name], seats, stake, start_points)
        contest = Contest(table, challenger, opponent, seed)
        with arenas.progress_bar(deals) as tell:
            figures = arenas.play(contest, deals, workers, tell)
    if as_json:
        print(arenas.as_json(contest, figures))
    else:
        arenas.show(contest, figures, Output())


@app.command()
def token(
    player: Annotated[str, typer.Option(help="Who it speaks for: the token's subject.")],
    name: Annotated[str, typer.Option(help="The name that others see at the table.")] = "",
    role: Annotated[list[Role] | None, typer.Option(help="May be repeated; else player.")] = None,
    ttl: Annotated[int, typer.Option(min=1, help="Seconds until it ends.")] = 12 * 3600,
) -> None:
    """Make a token with this user's development key, for standalone platforms only."""
    with refusals():
        try:
            print(dev_token(make_dev_key(), player, role or [Role.PLAYER], name, ttl * 1000))
        except ValueError as error:
            refuse(str(error))


@app.command()
def audit(
    data_dir: DataDir = DEFAULT_DATA_DIR,
    wallet: WalletAddress = None,
    token_file: TokenFile = None,
    anchors: Annotated[Path | None, typer.Option(help="Heads that were exported earlier.")] = None,
    export_anchors: Annotated[
        Path | None, typer.Option(help="Add the chain's head to this file if all is right.")
    ] = None,
    freeze: Annotated[bool, typer.Option(help="Freeze players' accounts with a finding.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object.")] = False,
) -> None:
    """Check ledger, chain and the engine's money events; status 1 if anything is wrong."""
    with refusals():
        way = reach("wallet", data_dir, wallet, token_file)
        known = [] if anchors is None else read_anchors(anchors)
        with audits.progress_bar() as tell:
            audited = asyncio.run(audits.audit(way, known, tell, freeze=freeze))
        if export_anchors is not None and not audited.findings:
            add_anchors(export_anchors, asyncio.run(audits.export(way)))
    if as_json:
        print(audits.as_json(audited))
    else:
        audits.show(audited, Output())
    sys.exit(FINDINGS if audited.findings else 0)


@app.command()
def demo() -> None:
    """Start a platform and play every kind of match on it with real clients; takes a minute."""
    try:
        asyncio.run(run_demo(lambda text: print(text, flush=True)))
    except (DidNotHappen, PlatformDidNotStart) as error:
        refuse(str(error))


@tables.command("list")
def list_tables(
    data_dir: DataDir = DEFAULT_DATA_DIR,
    engine: EngineAddress = None,
    token_file: TokenFile = None,
) -> None:
    """The tables that are not closed, one a line."""

    async def show() -> None:
        async for table in table_views.list_tables(way):
            print(summary_line(table))

    with refusals():
        way = reach("engine", data_dir, engine, token_file)
        asyncio.run(show())


@tables.command("show")
def show_table(
    table_id: str,
    data_dir: DataDir = DEFAULT_DATA_DIR,
    engine: EngineAddress = None,
    token_file: TokenFile = None,
    invite: Invite = "",
) -> None:
    """One table as it is now."""
    with refusals():
        way = reach("engine", data_dir, engine, token_file)
        view = asyncio.run(table_views.show_table(way, table_id, invite))
    print("\n".join(table_lines(view)))


@tables.command("watch")
def watch_table(
    table_id: str,
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
                    tell(table_lines(view))
        except RpcFailure as failure:
            # It was voided past its journal: what was shown last is all that there is to see.
            if failure.reason != TableIsClosed.reason:
                raise
            print(failure.message)

    with refusals():
        way = reach("engine", data_dir, engine, token_file)
        asyncio.run(show())


@tables.command("void")
def void_table(
    table_id: str,
    reason: Annotated[str, typer.Option(help="Why, for the record.")],
    data_dir: DataDir = DEFAULT_DATA_DIR,
    engine: EngineAddress = None,
    token_file: TokenFile = None,
) -> None:
    """End a table: its running match is voided and every stake goes back (M10)."""
    with refusals():
        way = reach("engine", data_dir, engine, token_file)
        response = asyncio.run(void_command.void_table(way, table_id, reason))
    print("\n".join(void_command.void_lines(table_id, response)))


if __name__ == "__main__":
    main()

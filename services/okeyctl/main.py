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
from okey_runtime.auth import Role
from okey_runtime.dev_platform import DEFAULT_DATA_DIR
from services.okeyctl import arena as arenas
from services.okeyctl import audit as audits
from services.okeyctl import (
    config_commands,
    player_commands,
    rating_commands,
    round_commands,
    shards,
    table_commands,
    ticket_commands,
    wallet_commands,
)
from services.okeyctl import hands as hand_lines
from services.okeyctl import simulate as simulation
from services.okeyctl.anchors import add_anchors, read_anchors
from services.okeyctl.completion import Shell, offer, script_for
from services.okeyctl.demo.platform import PlatformDidNotStart
from services.okeyctl.demo.run import DidNotHappen, run_demo
from services.okeyctl.doctor.command import doctor
from services.okeyctl.ending import FINDINGS, Output, failures, refusals, refuse
from services.okeyctl.options import DataDir, TokenFile, WalletAddress
from services.okeyctl.reach import dev_token, reach, signing_key

# Typer's Rich help shows flags as if they took a value.
app = typer.Typer(
    help="Operate and integrate an Okey platform.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
)
app.add_typer(table_commands.app, name="tables")
app.add_typer(wallet_commands.app, name="wallet")
app.add_typer(rating_commands.app, name="rating")
app.add_typer(player_commands.app, name="player")
app.add_typer(ticket_commands.app, name="tickets")
app.add_typer(shards.app, name="shards")
app.add_typer(config_commands.app, name="config")
app.command()(wallet_commands.statement)
app.command()(round_commands.verify)
app.command()(round_commands.replay)
app.command()(doctor)


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
    offer()
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
    data_dir: DataDir = DEFAULT_DATA_DIR,
) -> None:
    """Make a token for a standalone platform: with the key of the one that runs, else with yours.

    Which key file signed it is told on standard error.
    """
    with refusals():
        signing = signing_key(data_dir)
        try:
            made = dev_token(signing.key, player, role or [Role.PLAYER], name, ttl * 1000)
        except ValueError as error:
            refuse(str(error))
    # Told of a token that was handed out only: a full disk is refused here, in one line.
    print(made, flush=True)
    typer.echo(f"okeyctl: {signing.origin}", err=True)


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


@app.command()
def completion(
    shell: Annotated[Shell, typer.Argument(help="Whose.")],
) -> None:
    """The script that completes commands and options: eval "$(okeyctl completion bash)"."""
    print(script_for(shell))


if __name__ == "__main__":
    main()

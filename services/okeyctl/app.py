"""``okeyctl``: the command for operators and integrators; one group of commands a file."""

import asyncio

import typer

from services.okeyctl import (
    config_commands,
    key_commands,
    offline_commands,
    player_commands,
    rating_commands,
    round_commands,
    shards,
    table_commands,
    ticket_commands,
    token_commands,
    wallet_commands,
)
from services.okeyctl.demo.platform import PlatformDidNotStart
from services.okeyctl.demo.run import DidNotHappen, run_demo
from services.okeyctl.doctor.command import doctor
from services.okeyctl.ending import failures, refuse
from services.okeyctl.sections import Sections

# Typer's Rich help shows flags as if they took a value.
app = typer.Typer(
    cls=Sections,
    help="Operate and integrate an Okey platform.",
    epilog=(
        "Without an address a command calls the platform that `make run` has started in this "
        "folder. Status 0: done, nothing found; 1: done, and something is wrong; 2: it could not "
        "be done."
    ),
    no_args_is_help=True,
    rich_markup_mode=None,
)
app.add_typer(table_commands.app, name="tables")
app.add_typer(wallet_commands.app, name="wallet")
app.add_typer(rating_commands.app, name="rating")
app.add_typer(player_commands.app, name="player")
app.add_typer(ticket_commands.app, name="tickets")
app.add_typer(shards.app, name="shards")
app.add_typer(config_commands.app, name="config")
app.add_typer(token_commands.app, name="token")
app.add_typer(key_commands.app, name="keys")
app.command()(wallet_commands.statement)
app.command()(wallet_commands.audit)
app.command()(round_commands.verify)
app.command()(round_commands.replay)
app.command()(doctor)
app.command()(offline_commands.hands)
app.command()(offline_commands.simulate)
app.command()(offline_commands.arena)


def run() -> None:
    """Do as the command line says."""
    with failures():
        app()


@app.callback()
def every_command(ctx: typer.Context) -> None:
    """What all commands have in common: how they end where a file or the output fails."""
    ctx.with_resource(failures())


@app.command()
def demo() -> None:
    """Start a platform and play every kind of match there.

    With real clients, on free ports; takes a minute and leaves nothing behind.
    """
    try:
        asyncio.run(run_demo(lambda text: print(text, flush=True)))
    except (DidNotHappen, PlatformDidNotStart) as error:
        refuse(str(error))

"""``okeyctl``: the command for operators and integrators; one group of commands a file."""

import asyncio
from collections.abc import Collection
from typing import Annotated

import typer

from okey_runtime.audiences import PUBLIC_ROLES
from okey_runtime.auth import Role
from okey_runtime.dev_platform import DEFAULT_DATA_DIR
from services.okeyctl import (
    config_commands,
    offline_commands,
    player_commands,
    rating_commands,
    round_commands,
    shards,
    table_commands,
    ticket_commands,
    wallet_commands,
)
from services.okeyctl.demo.platform import PlatformDidNotStart
from services.okeyctl.demo.run import DidNotHappen, run_demo
from services.okeyctl.doctor.command import doctor
from services.okeyctl.ending import failures, refusals, refuse
from services.okeyctl.options import DataDir
from services.okeyctl.reach import CALLEES, dev_token, signing_key
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
def token(
    player: Annotated[str, typer.Option(help="Who it speaks for: the token's subject.")],
    name: Annotated[str, typer.Option(help="The name that others see at the table.")] = "",
    role: Annotated[list[Role] | None, typer.Option(help="May be repeated; else player.")] = None,
    callee: Annotated[
        str | None,
        typer.Option(
            "--for", metavar="SERVICE", help="Whom an operator or a service calls with it."
        ),
    ] = None,
    ttl: Annotated[int, typer.Option(min=1, help="Seconds until it ends.")] = 12 * 3600,
    data_dir: DataDir = DEFAULT_DATA_DIR,
) -> None:
    """Make a token, for platforms of this machine.

    A player's and an integrator's is good on every service; an operator's and a service's on one,
    which --for names: lobby, engine, wallet, rating, bots, gateway, or peer among engines.

    The key of the one that runs signs it, else this user's, which production refuses; standard
    error tells which file that was.
    """
    roles = role or [Role.PLAYER]
    with refusals():
        for_whom = _callee(roles, callee)
        signing = signing_key(data_dir)
        try:
            made = dev_token(signing.key, player, roles, name, ttl * 1000, for_whom)
        except ValueError as error:
            refuse(str(error))
    # Told of a token that was handed out only: a full disk is refused here, in one line.
    print(made, flush=True)
    typer.echo(f"okeyctl: {signing.origin}", err=True)


def _callee(roles: Collection[Role], callee: str | None) -> str:
    """Whom the token is for, "" for all. Ends the command where no service would take it."""
    private = sorted(set(roles) - PUBLIC_ROLES)
    public = sorted(set(roles) & PUBLIC_ROLES)
    if private and public:
        refuse(
            f"{private[0]} and {public[0]} need two tokens: {public[0]}'s is for every service, "
            f"{private[0]}'s for the one that --for names"
        )
    if private and callee not in CALLEES:
        given = "was not given" if callee is None else f"names {callee!r}, which is none"
        refuse(
            f"a token with the role {private[0]} is good on one service, and --for {given}: "
            f"name one of {', '.join(CALLEES)}"
        )
    if public and callee is not None:
        refuse(f"a token with the role {public[0]} is good on every service: leave --for out")
    return callee or ""


@app.command()
def demo() -> None:
    """Start a platform and play every kind of match there.

    With real clients, on free ports; takes a minute and leaves nothing behind.
    """
    try:
        asyncio.run(run_demo(lambda text: print(text, flush=True)))
    except (DidNotHappen, PlatformDidNotStart) as error:
        refuse(str(error))

"""``okeyctl wallet``, ``statement`` and ``audit``: an operator's work on accounts."""

import asyncio
import sys
from pathlib import Path
from typing import Annotated, Final
from uuid import uuid4

import typer

from okey.api.wallet.v1 import wallet_pb2, wallet_pb2_grpc
from okey.money.account import player_account
from okey_runtime.keys import make_chain_key
from services.okeyctl import approval_commands
from services.okeyctl import audit as audits
from services.okeyctl import statement as statements
from services.okeyctl.anchors import add_anchors, read_anchors
from services.okeyctl.as_json import json_line
from services.okeyctl.asking import TIMEOUT_S, ask
from services.okeyctl.connecting import calls
from services.okeyctl.ending import FINDINGS, Output, refuse
from services.okeyctl.moments import TIME, span_ms
from services.okeyctl.options import AsJson, Player, Reason, checked_player
from services.okeyctl.reach import Reach

_INT64: Final = range(-(2**63), 2**63)
"""What the wallet's API can carry."""

app = typer.Typer(
    help="Read accounts, freeze them, grant chips, take back.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

app.add_typer(approval_commands.app, name="approvals")


def _in_range(number: int) -> int:
    if number not in _INT64:
        refuse(f"{number} is out of range")
    return number


Key = Annotated[str | None, typer.Option(help="The key of an earlier try whose end is not known.")]
Chips = Annotated[int, typer.Argument(metavar="CHIPS", help="How many.", callback=_in_range)]
JournalId = Annotated[
    int,
    typer.Argument(
        metavar="JOURNAL", help="Its number, as `statement` shows it.", callback=_in_range
    ),
]

Stub = wallet_pb2_grpc.WalletServiceStub


@app.command()
@calls("wallet")
def balance(
    way: Reach,
    account: Annotated[
        str, typer.Argument(metavar="ACCOUNT", help="A player's id, or an account's whole name.")
    ],
    as_json: AsJson = False,
) -> None:
    """Show what an account has.

    Such as ayse, player:ayse, house:rake, escrow:<table>.
    """
    name = account if ":" in account else player_account(checked_player(account))
    request = wallet_pb2.GetAccountRequest(account=name)
    answer = ask(way, Stub, lambda stub: stub.GetAccount(request, timeout=TIMEOUT_S))
    if as_json:
        print(json_line(answer))
    else:
        state = "  closed" if answer.closed else "  frozen" if answer.frozen else ""
        print(f"{answer.account}  {answer.balance:,} chips  {answer.version} postings{state}")


@app.command()
@calls("wallet")
def freeze(way: Reach, player: Player, reason: Reason, as_json: AsJson = False) -> None:
    """Let nothing be taken from a player's account.

    It still receives.
    """
    request = wallet_pb2.FreezeAccountRequest(account=player_account(player), reason=reason)
    answer = ask(way, Stub, lambda stub: stub.FreezeAccount(request, timeout=TIMEOUT_S))
    text = f"{request.account} {'is frozen' if answer.changed else 'was frozen already'}"
    print(json_line(answer) if as_json else text)


@app.command()
@calls("wallet")
def unfreeze(way: Reach, player: Player, reason: Reason, as_json: AsJson = False) -> None:
    """Lift the freeze of a player's account."""
    request = wallet_pb2.UnfreezeAccountRequest(account=player_account(player), reason=reason)
    answer = ask(way, Stub, lambda stub: stub.UnfreezeAccount(request, timeout=TIMEOUT_S))
    text = f"{request.account} {'is not frozen any more' if answer.changed else 'was not frozen'}"
    print(json_line(answer) if as_json else text)


@app.command()
@calls("wallet")
def grant(
    way: Reach,
    player: Player,
    chips: Chips,
    reason: Reason,
    key: Key = None,
    as_json: AsJson = False,
) -> None:
    """Give a player new chips (M3).

    Above the limit of one operator a request is kept, and the answer says what to do: another
    operator approves it (`wallet approvals approve`); the same --key then shows the receipt.
    """
    request = wallet_pb2.GrantChipsRequest(
        idempotency_key=_key(key), player_id=player, amount=chips, reason=reason
    )
    answer = ask(way, Stub, lambda stub: stub.GrantChips(request, timeout=TIMEOUT_S))
    text = f"journal {answer.receipt.journal_id}: {chips:,} chips to {player}"
    print(json_line(answer) if as_json else text)


@app.command()
@calls("wallet")
def reverse(
    way: Reach, journal: JournalId, reason: Reason, key: Key = None, as_json: AsJson = False
) -> None:
    """Take a grant or a penalty back, with a new journal.

    Above the limit of one operator another must approve it, as for a grant.
    """
    request = wallet_pb2.ReverseJournalRequest(
        idempotency_key=_key(key), journal_id=journal, reason=reason
    )
    answer = ask(way, Stub, lambda stub: stub.ReverseJournal(request, timeout=TIMEOUT_S))
    text = f"journal {answer.receipt.journal_id} takes journal {journal} back"
    print(json_line(answer) if as_json else text)


@app.command("chain-key")
def chain_key(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="Where to write it; must not exist.")
    ],
) -> None:
    """Make a key that seals the ledger.

    For OKEY_CHAIN_KEY_FILE, or as the secret okey_chain_key.
    """
    try:
        print(f"{file}: {make_chain_key(file)}; keep a copy where the database is not")
    except OSError as error:
        refuse(f"no key was made: {error}")


@calls("wallet")
def statement(
    way: Reach,
    player: Annotated[str | None, typer.Option(help="The player's id.")] = None,
    account: Annotated[
        str | None, typer.Option(help="Any account's whole name: pot:<match>, kasa:<table>.")
    ] = None,
    since: Annotated[
        str | None,
        typer.Option(
            "--from",
            metavar=TIME,
            help="From this time on, as 2026-12-01T10:00:00Z, or from the start of this day (UTC), "
            "as 2026-12-01.",
        ),
    ] = None,
    until: Annotated[
        str | None,
        typer.Option(
            metavar=TIME,
            help="Until this time, or until the end of this day (UTC), not before --from. Else "
            "now.",
        ),
    ] = None,
    as_json: AsJson = False,
    as_csv: Annotated[bool, typer.Option("--csv", help="Print CSV, one line a posting.")] = False,
) -> None:
    """Show what went in and out of a player's or any other account.

    Every posting, between opening and closing balance.
    """
    if (player is None) == (account is None):
        refuse("name either --player or --account")
    if as_json and as_csv:
        refuse("--json and --csv exclude each other: name one")
    name = account or player_account(checked_player(player or ""))
    found = asyncio.run(statements.fetch(way, name, *span_ms(since, until)))
    if as_json:
        print(statements.as_json(found))
    elif as_csv:
        print(statements.as_csv(found), end="")
    else:
        statements.show(found, Output())


@calls("wallet")
def audit(
    way: Reach,
    anchors: Annotated[Path | None, typer.Option(help="Heads that were exported earlier.")] = None,
    export_anchors: Annotated[
        Path | None, typer.Option(help="Add the chain's head to this file if all is right.")
    ] = None,
    freeze: Annotated[
        bool, typer.Option("--freeze", help="Freeze players' accounts with a finding.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Check that every chip is accounted for.

    Ledger, signed chain and the engine's money events against one another. Status 1 if anything is
    wrong.
    """
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


def _key(key: str | None) -> str:
    """The request's key; a new one is shown, so that a try whose end is unknown can be repeated."""
    if key is None:
        key = f"okeyctl-{uuid4().hex}"
        typer.echo(f"key {key}", err=True)
    return key

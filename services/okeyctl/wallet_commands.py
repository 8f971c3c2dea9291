"""``okeyctl wallet`` and ``okeyctl statement``: an operator's work on accounts."""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Final, TypeVar
from uuid import uuid4

import typer

from okey.api.wallet.v1 import wallet_pb2, wallet_pb2_grpc
from okey.money.account import Account, player_account
from okey_runtime.dev_platform import DEFAULT_DATA_DIR
from okey_runtime.identity import SUBJECT_PATTERN
from okey_runtime.keys import make_chain_key
from services.okeyctl import statement as statements
from services.okeyctl.as_json import json_line
from services.okeyctl.ending import Output, refusals, refuse
from services.okeyctl.options import AsJson, DataDir, TokenFile, WalletAddress
from services.okeyctl.reach import Reach, reach

_TIMEOUT_S: Final = 30.0
_INT64: Final = range(-(2**63), 2**63)
"""What the wallet's API can carry."""

app = typer.Typer(
    help="Accounts: balance, freeze, grant, take back; and the key of the ledger.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

Reason = Annotated[str, typer.Option(help="Why; kept for good, with your token's subject.")]
Key = Annotated[str | None, typer.Option(help="The key of an earlier try whose end is not known.")]

Stub = wallet_pb2_grpc.WalletServiceStub
T = TypeVar("T")


@app.command()
def balance(
    account: Annotated[str, typer.Argument(help="A player's id, or any account's whole name.")],
    as_json: AsJson = False,
    data_dir: DataDir = DEFAULT_DATA_DIR,
    wallet: WalletAddress = None,
    token_file: TokenFile = None,
) -> None:
    """What an account has: ayse, player:ayse, house:rake, escrow:<table>."""
    name = account if ":" in account else _account(account)
    request = wallet_pb2.GetAccountRequest(account=name)
    with refusals():
        way = reach("wallet", data_dir, wallet, token_file)
        answer = _ask(way, lambda stub: stub.GetAccount(request, timeout=_TIMEOUT_S))
    if as_json:
        print(json_line(answer))
    else:
        state = "  closed" if answer.closed else "  frozen" if answer.frozen else ""
        print(f"{answer.account}  {answer.balance:,} chips  {answer.version} postings{state}")


@app.command()
def freeze(
    player: str,
    reason: Reason,
    as_json: AsJson = False,
    data_dir: DataDir = DEFAULT_DATA_DIR,
    wallet: WalletAddress = None,
    token_file: TokenFile = None,
) -> None:
    """Take nothing from a player's account any more; it still receives."""
    request = wallet_pb2.FreezeAccountRequest(account=_account(player), reason=reason)
    with refusals():
        way = reach("wallet", data_dir, wallet, token_file)
        answer = _ask(way, lambda stub: stub.FreezeAccount(request, timeout=_TIMEOUT_S))
    text = f"{request.account} {'is frozen' if answer.changed else 'was frozen already'}"
    print(json_line(answer) if as_json else text)


@app.command()
def unfreeze(
    player: str,
    reason: Reason,
    as_json: AsJson = False,
    data_dir: DataDir = DEFAULT_DATA_DIR,
    wallet: WalletAddress = None,
    token_file: TokenFile = None,
) -> None:
    """Lift the freeze of a player's account."""
    request = wallet_pb2.UnfreezeAccountRequest(account=_account(player), reason=reason)
    with refusals():
        way = reach("wallet", data_dir, wallet, token_file)
        answer = _ask(way, lambda stub: stub.UnfreezeAccount(request, timeout=_TIMEOUT_S))
    text = f"{request.account} {'is not frozen any more' if answer.changed else 'was not frozen'}"
    print(json_line(answer) if as_json else text)


@app.command()
def grant(
    player: str,
    chips: int,
    reason: Reason,
    key: Key = None,
    as_json: AsJson = False,
    data_dir: DataDir = DEFAULT_DATA_DIR,
    wallet: WalletAddress = None,
    token_file: TokenFile = None,
) -> None:
    """Give a player new chips (M3)."""
    _check_number(chips)
    request = wallet_pb2.GrantChipsRequest(
        idempotency_key=_key(key), player_id=player, amount=chips, reason=reason
    )
    with refusals():
        way = reach("wallet", data_dir, wallet, token_file)
        answer = _ask(way, lambda stub: stub.GrantChips(request, timeout=_TIMEOUT_S))
    text = f"journal {answer.receipt.journal_id}: {chips:,} chips to {player}"
    print(json_line(answer) if as_json else text)


@app.command()
def reverse(
    journal: int,
    reason: Reason,
    key: Key = None,
    as_json: AsJson = False,
    data_dir: DataDir = DEFAULT_DATA_DIR,
    wallet: WalletAddress = None,
    token_file: TokenFile = None,
) -> None:
    """Take a grant or a penalty back, with a new journal."""
    _check_number(journal)
    request = wallet_pb2.ReverseJournalRequest(
        idempotency_key=_key(key), journal_id=journal, reason=reason
    )
    with refusals():
        way = reach("wallet", data_dir, wallet, token_file)
        answer = _ask(way, lambda stub: stub.ReverseJournal(request, timeout=_TIMEOUT_S))
    text = f"journal {answer.receipt.journal_id} takes journal {journal} back"
    print(json_line(answer) if as_json else text)


@app.command("chain-key")
def chain_key(file: Path) -> None:
    """Make a key that seals the ledger, for OKEY_CHAIN_KEY_FILE or the secret okey_chain_key."""
    try:
        print(f"{file}: {make_chain_key(file)}; keep a copy where the database is not")
    except OSError as error:
        refuse(f"no key was made: {error}")


def statement(
    player: Annotated[str | None, typer.Option(help="Whose.")] = None,
    account: Annotated[
        str | None, typer.Option(help="Any account's whole name: pot:<match>, kasa:<table>.")
    ] = None,
    since: Annotated[datetime | None, typer.Option("--from", help="From when on, UTC.")] = None,
    until: Annotated[datetime | None, typer.Option(help="Until when, UTC; now.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object.")] = False,
    as_csv: Annotated[bool, typer.Option("--csv", help="One line a posting.")] = False,
    data_dir: DataDir = DEFAULT_DATA_DIR,
    wallet: WalletAddress = None,
    token_file: TokenFile = None,
) -> None:
    """What went in and out of a player's or any other account, between opening and closing
    balance.
    """
    if (player is None) == (account is None):
        refuse("name either --player or --account")
    if as_json and as_csv:
        refuse("--json and --csv exclude each other: name one")
    name = account or _account(player or "")
    with refusals():
        way = reach("wallet", data_dir, wallet, token_file)
        found = asyncio.run(statements.fetch(way, name, _ms(since), _ms(until)))
    if as_json:
        print(statements.as_json(found))
    elif as_csv:
        print(statements.as_csv(found), end="")
    else:
        statements.show(found, Output())


def _account(player: str) -> Account:
    if not SUBJECT_PATTERN.fullmatch(player):
        refuse(f"{player!r} is no player id: 1 to 64 of A-Z a-z 0-9 _ . : @ -")
    return player_account(player)


def _check_number(number: int) -> None:
    if number not in _INT64:
        refuse(f"{number} is out of range")


def _ms(moment: datetime | None) -> int:
    return 0 if moment is None else int(moment.replace(tzinfo=UTC).timestamp() * 1000)


def _key(key: str | None) -> str:
    """The request's key; a new one is shown, so that a try whose end is unknown can be repeated."""
    if key is None:
        key = f"okeyctl-{uuid4().hex}"
        typer.echo(f"key {key}", err=True)
    return key


def _ask(way: Reach, call: Callable[[Stub], Awaitable[T]]) -> T:
    async def ask() -> T:
        async with way.open() as channel:
            return await call(Stub(channel))

    return asyncio.run(ask())

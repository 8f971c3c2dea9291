"""``okeyctl doctor``: its options, and what it looks at."""

import asyncio
import secrets
import sys
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Annotated, Final

import typer

from okey_runtime.auth import Role, load_signing_key
from okey_runtime.clock import SystemClock
from okey_runtime.dev_platform import DEFAULT_DATA_DIR, DevPlatform
from okey_runtime.service_token import MetadataProvider, fixed_token
from services.okeyctl.doctor.judge import Finding, judge
from services.okeyctl.doctor.observe import KINDS, Observed, TokenFor, observe
from services.okeyctl.doctor.play import dry_run, open_player, play
from services.okeyctl.doctor.show import as_json, is_well, show
from services.okeyctl.ending import FINDINGS, Output, refusals, refuse
from services.okeyctl.options import (
    AsJson,
    BotsAddress,
    DataDir,
    EngineAddress,
    LobbyAddress,
    RatingAddress,
    TokenFile,
    WalletAddress,
)
from services.okeyctl.reach import TokenFileMissing, dev_token, subject_of, token_in

_SUBJECT: Final = "okeyctl-doctor"


def doctor(
    data_dir: DataDir = DEFAULT_DATA_DIR,
    lobby: LobbyAddress = None,
    engine: EngineAddress = None,
    wallet: WalletAddress = None,
    rating: RatingAddress = None,
    bots: BotsAddress = None,
    gateway: Annotated[
        str | None, typer.Option(help="host:port of a gateway's gRPC elsewhere.")
    ] = None,
    token_file: TokenFile = None,
    dry: Annotated[
        bool, typer.Option("--dry-run", help="Also call as a player does, changing nothing.")
    ] = False,
    plays: Annotated[
        bool, typer.Option("--play", help="Also play a match against a bot, for 100 chips.")
    ] = False,
    player_token_file: Annotated[
        Path | None, typer.Option(help="The player's token for those two, with addresses.")
    ] = None,
    no_ledger: Annotated[
        bool, typer.Option("--no-ledger", help="Leave the check of the whole ledger out.")
    ] = False,
    is_whole: Annotated[bool, typer.Option("--all", help="Show what is right, too.")] = False,
    to_json: AsJson = False,
) -> None:
    """Say what is wrong with an installation, and what to do.

    Looks at every process behind each address: is it there, does it take work, does it take the
    token, what does it say of its database, its Redis, its peers and its outbox; do versions,
    schemas, keys and clocks agree; who owns the tables; is every chip accounted for. Status 0 where
    nothing is wrong, 1 where something is, 2 where it could not look.
    """
    addresses = (gateway, lobby, engine, wallet, rating, bots)
    named = zip(KINDS, addresses, strict=True)
    targets = {kind: address for kind, address in named if address is not None}
    with refusals():
        platform = None if targets else DevPlatform.find(data_dir)
        if platform is not None:
            targets = {kind: platform.address(kind) for kind in KINDS}
        operator = _operators(platform, token_file)
        player = _player(platform, player_token_file, targets) if dry or plays else None
        observed, findings = asyncio.run(
            _diagnose(
                targets,
                _labels(platform),
                operator,
                player,
                plays=plays,
                with_ledger=not no_ledger,
            )
        )
    if to_json:
        print(as_json(observed, findings))
    else:
        show(observed, findings, Output(), is_whole=is_whole)
    sys.exit(0 if is_well(findings) else FINDINGS)


async def _diagnose(
    targets: Mapping[str, str],
    labels: Mapping[str, str],
    operator: TokenFor,
    player: tuple[str, str] | None,
    *,
    plays: bool,
    with_ledger: bool,
) -> tuple[Observed, list[Finding]]:
    clock = SystemClock()
    observed = await observe(targets, operator, clock, labels=labels, with_ledger=with_ledger)
    findings = judge(observed)
    if player is not None:
        subject, token = player
        async with open_player(targets, token) as client:
            findings += await (play(client, subject) if plays else dry_run(client))
    return observed, findings


def _labels(platform: DevPlatform | None) -> dict[str, str]:
    """This machine's own platform has names for its processes."""
    processes = platform.processes if platform is not None else {}
    return {process.address: name for name, process in processes.items()}


def _operators(platform: DevPlatform | None, tokens: Path | None) -> TokenFor:
    """An operator's token for each service: from files, or of this machine's own platform."""
    if tokens is not None:
        return partial(token_in, tokens)
    if platform is None:
        raise TokenFileMissing("addresses were named: name an operator's token with --token-file")
    key = load_signing_key(platform.key_file)

    def signed(service: str) -> MetadataProvider:
        return fixed_token(dev_token(key, _SUBJECT, [Role.OPERATOR], callee=service))

    return signed


def _player(
    platform: DevPlatform | None, token_file: Path | None, targets: Mapping[str, str]
) -> tuple[str, str]:
    """Who plays, and the token."""
    missing = [kind for kind in ("lobby", "engine", "wallet") if kind not in targets]
    if missing:
        refuse(f"a player needs the addresses of lobby, engine and wallet: name {missing[0]}'s")
    if token_file is not None:
        token = token_file.read_text().strip()
        return subject_of(token), token
    if platform is None:
        raise TokenFileMissing(
            "addresses were named: name the token of a player who may lose 100 chips with "
            "--player-token-file"
        )
    guest = f"doctor-{secrets.token_hex(4)}"
    key = load_signing_key(platform.key_file)
    return guest, dev_token(key, guest, [Role.PLAYER])

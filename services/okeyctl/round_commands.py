"""``okeyctl verify`` and ``okeyctl replay``: finished rounds."""

import asyncio
import sys
from typing import Annotated

import typer

from okey_runtime.dev_platform import DEFAULT_DATA_DIR
from services.okeyctl import replay as replays
from services.okeyctl import tables_verify as deals
from services.okeyctl.ending import FINDINGS, Output, refusals
from services.okeyctl.options import AsJsonLines, DataDir, EngineAddress, Invite, TokenFile
from services.okeyctl.reach import reach

MatchNo = Annotated[int, typer.Argument(min=1, help="From 1, at this table.")]


def verify(
    table_id: str,
    match_no: MatchNo,
    round_no: Annotated[int, typer.Argument(min=1, help="From 1, within the match.")],
    as_json: AsJsonLines = False,
    data_dir: DataDir = DEFAULT_DATA_DIR,
    engine: EngineAddress = None,
    token_file: TokenFile = None,
    invite: Invite = "",
) -> None:
    """Rebuild the deal of a finished round; the exit status is 1 if it is not the one played."""
    with refusals():
        way = reach("engine", data_dir, engine, token_file)
        try:
            played = asyncio.run(deals.fetch_round(way, table_id, match_no, round_no, invite))
            for proof in deals.proofs(played):
                print(deals.proof_as_json(proof) if as_json else proof)
        except deals.Mismatch as mismatch:
            print(deals.mismatch_as_json(mismatch) if as_json else f"MISMATCH    {mismatch}")
            sys.exit(FINDINGS)


def replay(
    table_id: str,
    match_no: MatchNo,
    round_no: Annotated[
        int | None, typer.Argument(min=1, help="From 1, within the match; else all that ended.")
    ] = None,
    data_dir: DataDir = DEFAULT_DATA_DIR,
    engine: EngineAddress = None,
    token_file: TokenFile = None,
    invite: Invite = "",
    racks: Annotated[bool, typer.Option("--racks", help="What the seat holds after each turn.")] = (
        False
    ),
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object a round, a line.")] = (
        False
    ),
) -> None:
    """Show a finished round, or all finished rounds of a match, move by move, nothing hidden."""

    async def show() -> None:
        async for replayed in replays.fetch(way, table_id, match_no, round_no, invite):
            if as_json:
                print(replays.as_json(replayed))
            else:
                replays.show(replayed, Output(), racks=racks)

    with refusals():
        way = reach("engine", data_dir, engine, token_file)
        try:
            asyncio.run(show())
        except deals.Mismatch as mismatch:
            print(f"MISMATCH    {mismatch}")
            sys.exit(FINDINGS)

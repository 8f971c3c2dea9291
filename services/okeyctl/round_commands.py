"""``okeyctl verify`` and ``okeyctl replay``: finished rounds."""

import asyncio
import sys
from typing import Annotated

import typer

from services.okeyctl import replay as replays
from services.okeyctl import tables_verify as deals
from services.okeyctl.connecting import calls
from services.okeyctl.ending import FINDINGS, Output
from services.okeyctl.options import AsJsonLines, Invite, TableId
from services.okeyctl.reach import Reach

MatchNo = Annotated[
    int, typer.Argument(metavar="MATCH", min=1, help="Its number at this table, from 1.")
]
RoundNo = Annotated[
    int, typer.Argument(metavar="ROUND", min=1, help="Its number in the match, from 1.")
]
AnyRoundNo = Annotated[
    int | None,
    typer.Argument(
        metavar="ROUND", min=1, help="Its number in the match; else every finished one."
    ),
]


@calls("engine")
def verify(
    way: Reach,
    table_id: TableId,
    match_no: MatchNo,
    round_no: RoundNo,
    invite: Invite = "",
    as_json: AsJsonLines = False,
) -> None:
    """Rebuild the deal of a finished round from its seed.

    Status 1 if it is not the one that was played.
    """
    try:
        played = asyncio.run(deals.fetch_round(way, table_id, match_no, round_no, invite))
        for proof in deals.proofs(played):
            print(deals.proof_as_json(proof) if as_json else proof)
    except deals.Mismatch as mismatch:
        _tell(mismatch, as_json=as_json)


@calls("engine")
def replay(
    way: Reach,
    table_id: TableId,
    match_no: MatchNo,
    round_no: AnyRoundNo = None,
    invite: Invite = "",
    racks: Annotated[
        bool, typer.Option("--racks", help="Show what the seat holds after each turn, too.")
    ] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one JSON object a round, each on a line.")
    ] = False,
) -> None:
    """Show a finished round or match, move by move.

    Nothing is hidden any more: all racks, the stock and the seed are shown.
    """

    async def show() -> None:
        async for replayed in replays.fetch(way, table_id, match_no, round_no, invite):
            if as_json:
                print(replays.as_json(replayed))
            else:
                replays.show(replayed, Output(), racks=racks)

    try:
        asyncio.run(show())
    except deals.Mismatch as mismatch:
        _tell(mismatch, as_json=as_json)


def _tell(mismatch: deals.Mismatch, *, as_json: bool) -> None:
    """Say what differs, and end with the status of a finding."""
    print(deals.mismatch_as_json(mismatch) if as_json else f"MISMATCH    {mismatch}")
    sys.exit(FINDINGS)

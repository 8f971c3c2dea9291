"""What a player meets: calls that change nothing, or a whole match against a bot."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping
from typing import Final

from okey.api.common.v1 import common_pb2
from okey.api.engine.v1 import table_pb2
from okey.api.lobby.v1 import lobby_pb2
from okey_client import OkeyClient, RetryPolicy, RpcFailure, autoplay
from services.okeyctl.doctor.judge import Finding, State

STAKE: Final = 100
_MATCH_TIMEOUT_S: Final = 600.0
_STEP_TIMEOUT_S: Final = 15.0
# Whoever plays waits a little; a doctor tells what does not answer.
_POLICY: Final = RetryPolicy(tries=4)
_OVER: Final = (table_pb2.PHASE_NACHSPIEL, table_pb2.PHASE_CLOSED)


def open_player(targets: Mapping[str, str], token: str) -> OkeyClient:
    """A client of the player whose token that is."""
    return OkeyClient(
        token_provider=lambda: token,
        lobby_address=targets["lobby"],
        engine_address=targets["engine"],
        wallet_address=targets.get("wallet", ""),
        rating_address=targets.get("rating", ""),
        policy=_POLICY,
    )


async def dry_run(client: OkeyClient) -> list[Finding]:
    """The calls with which a player begins; none changes anything."""

    async def tables() -> str:
        found = [table async for table in client.lobby.list_tables()]
        return f"{len(found)} open tables"

    async def place() -> str:
        at = await client.where_am_i()
        return f"sits at table {at.table_id}" if at is not None else "sits nowhere"

    return [
        await _step("list of tables", tables),
        await _step("where the player sits", place),
    ]


async def play(client: OkeyClient, player: str) -> list[Finding]:
    """A match of one person against a bot (O1), for real chips, to its settlement."""
    findings: list[Finding] = []

    async def chips() -> str:
        return f"{await client.wallet.balance_of(player)} chips"

    async def match() -> str:
        began = time.monotonic()
        terms = lobby_pb2.TableTerms(mode=common_pb2.MODE_SOLO, seat_count=2, stake=STAKE)
        table_id = await client.lobby.create_table(terms)
        table = client.table(table_id)
        mirror = await autoplay(table, lambda view: view.phase in _OVER)
        if mirror.view.phase == table_pb2.PHASE_NACHSPIEL:
            await table.leave()
        seconds = time.monotonic() - began
        return f"table {table_id}: {mirror.view.seq} rows in {seconds:.0f} s, settled"

    findings.append(await _step("chips before", chips))
    findings.append(await _step("match against a bot", match, _MATCH_TIMEOUT_S))
    findings.append(await _step("chips after", chips))
    return findings


async def _step(
    where: str, work: Callable[[], Awaitable[str]], timeout_s: float = _STEP_TIMEOUT_S
) -> Finding:
    began = time.monotonic()
    try:
        async with asyncio.timeout(timeout_s):
            text = await work()
    except RpcFailure as failure:
        advice = "see docs/api.md for the reason, and the log of the service"
        return Finding("play", where, State.WRONG, str(failure), advice)
    except TimeoutError:
        text = f"not done within {timeout_s:g} s"
        return Finding("play", where, State.WRONG, text, "see the engine's and the wallet's logs")
    return Finding("play", where, State.OK, f"{text} ({(time.monotonic() - began) * 1000:.0f} ms)")

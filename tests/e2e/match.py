"""Players at a table of the running platform: sitting down, playing to a point, to the end."""

import asyncio
import os
import signal
from contextlib import AsyncExitStack
from dataclasses import dataclass
from itertools import count
from typing import Self

from okey.api.engine.v1 import table_pb2
from okey.api.lobby.v1 import lobby_pb2
from okey_client import OkeyClient, TableClient, autoplay
from okey_runtime.dev_platform import DevPlatform
from services.okeyctl import audit
from services.okeyctl.demo.platform import StartedPlatform

STAKE = 100
WELCOME_CHIPS = 10_000
MID_ROUND_TURN = 4
_OVER = (table_pb2.PHASE_NACHSPIEL, table_pb2.PHASE_CLOSED)
_numbers = count(1)


@dataclass(frozen=True)
class Seated:
    """One player at one table."""

    player_id: str
    client: OkeyClient
    table: TableClient

    async def chips(self) -> int:
        return await self.client.wallet.balance_of(self.player_id)


class Tables:
    """Makes tables on a platform and keeps the clients of their players open."""

    def __init__(self, platform: StartedPlatform) -> None:
        self.platform = platform
        self._clients = AsyncExitStack()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._clients.aclose()

    async def client(self, player_id: str) -> OkeyClient:
        return await self._clients.enter_async_context(self.platform.client(player_id))

    async def again(self, seated: Seated) -> Seated:
        """The same player with a new client, after the platform has moved."""
        client = await self.client(seated.player_id)
        return Seated(seated.player_id, client, client.table(seated.table.table_id))

    async def seat(self, people: int = 2) -> list[Seated]:
        """New players at a new Çanak table, everybody seated."""
        ids = [f"player-{next(_numbers)}" for _ in range(people)]
        clients = [await self.client(player_id) for player_id in ids]
        terms = lobby_pb2.TableTerms(seat_count=people, stake=STAKE, turn_timeout_ms=120_000)
        table_id = await clients[0].lobby.create_table(terms)
        for client in clients[1:]:
            await client.lobby.join_table(table_id)
        return [
            Seated(player_id, client, client.table(table_id))
            for player_id, client in zip(ids, clients, strict=True)
        ]

    async def seat_mid_round(self) -> list[Seated]:
        """Two players whose round has begun; nobody moves any more.

        Nobody finishes before: that would take a hand dealt all but complete.
        """
        seated = await self.seat()
        await asyncio.gather(*(autoplay(own.table, is_mid_round) for own in seated))
        return seated


def is_mid_round(view: table_pb2.TableView) -> bool:
    return view.round.turn.number >= MID_ROUND_TURN


def is_over(view: table_pb2.TableView) -> bool:
    """Whether the match is over and settled."""
    return view.phase in _OVER


async def play_to_the_end(seated: list[Seated]) -> table_pb2.TableView:
    """Let everybody play until the match is settled; the table then."""
    mirrors = await asyncio.gather(*(autoplay(own.table, is_over) for own in seated))
    assert is_over(mirrors[0].view)
    return mirrors[0].view


async def kill(platform: StartedPlatform, *names: str) -> None:
    """End processes as a crash does, and return once standalone has them back."""
    pids = {name: platform.state.processes[name].pid for name in names}
    for pid in pids.values():
        os.kill(pid, signal.SIGKILL)

    def are_back(state: DevPlatform) -> bool:
        return state.is_ready and all(state.processes[name].pid != pids[name] for name in names)

    await platform.until(are_back)


async def require_no_chip_lost(
    platform: StartedPlatform, seated: list[Seated], end: table_pb2.TableView, bonus_before: int
) -> None:
    """The ledger is right, and what the players brought is theirs or in the kasa (M3, Ç5)."""
    wallet = platform.operator("wallet")
    audited = await audit.audit(wallet, [], lambda _: None, freeze=False)
    assert audited.findings == []
    paid_by_house = bonus_before - await house_bonus(platform)
    chips = [await own.chips() for own in seated]
    assert sum(chips) + end.kasa == len(seated) * WELCOME_CHIPS + paid_by_house
    assert max(chips) > WELCOME_CHIPS or end.kasa == len(seated) * STAKE // 10


async def house_bonus(platform: StartedPlatform) -> int:
    return (await audit.house_balances(platform.operator("wallet")))["house:bonus"]

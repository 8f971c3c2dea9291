"""Players with the real client, on the real lobby, engine, wallet, rating, bots and Valkey."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from okey.api.common.v1 import common_pb2
from okey.api.engine.v1 import table_pb2
from okey.api.events.v1 import events_pb2
from okey.api.lobby.v1 import lobby_pb2
from okey.api.rating.v1 import rating_pb2
from okey.rules.variant import BotLevel
from okey_client import Change, ClientNotConfigured, OkeyClient, RpcFailure, autoplay
from okey_runtime.config import Environment
from okey_runtime.identity import Role
from services.lobby.app import LobbyApp
from services.lobby.settings import LobbySettings
from tests.fixtures.valkey import Valkey
from tests.integration.engine.platform import Platform

WELCOME = 10_000
CANAK_OF_TWO = lobby_pb2.TableTerms(seat_count=2, stake=100)
KLASIK_OF_TWO = lobby_pb2.TableTerms(
    variant=common_pb2.VARIANT_KLASIK, seat_count=2, stake=100, start_points=3
)
SOLO_OF_TWO = lobby_pb2.TableTerms(mode=common_pb2.MODE_SOLO, seat_count=2, stake=100)
OVER = (table_pb2.PHASE_NACHSPIEL, table_pb2.PHASE_CLOSED)


class WholePlatform(Platform):
    """The engine's platform with a lobby in front, and players with clients."""

    async def start_with_lobby(self, valkey: Valkey, folder: Path) -> None:
        await self.start()
        settings = LobbySettings(
            environment=Environment.TEST,
            jwks_file=self.issuer.jwks_file,
            service_token_dir=self.issuer.service_token_dir(folder, Role.LOBBY),
            engine_address=self.engine_address,
            wallet_address=self._addresses["wallet"],
            rating_address=self._addresses["rating"],
            redis_url=valkey.url,
            redis_budget_ms=30_000,
            stop_grace_ms=0,
        )
        await self._serve("lobby", LobbyApp(settings))

    async def player(self, name: str) -> OkeyClient:
        client = OkeyClient(
            lobby_address=self._addresses["lobby"],
            engine_address=self.engine_address,
            wallet_address=self._addresses["wallet"],
            rating_address=self._addresses["rating"],
            token_provider=lambda: self.issuer.token(name, name=name.title()),
        )
        return await self._channels.enter_async_context(client)


@pytest.fixture
def clock_factor() -> int:
    """How many times as fast as in play the clocks are."""
    return 20


@pytest.fixture
async def world(valkey: Valkey, tmp_path: Path, clock_factor: int) -> AsyncIterator[WholePlatform]:
    running = WholePlatform(tmp_path, clock_factor, f"sqlite:///{tmp_path / 'engine.db'}")
    await running.start_with_lobby(valkey, tmp_path)
    yield running
    await running.stop()


async def play(
    client: OkeyClient, table_id: str, seed: int, seen: list[Change] | None = None
) -> table_pb2.TableView:
    """Play one match to its end; the view that shows it."""
    mirror = await autoplay(
        client.table(table_id),
        lambda view: view.phase in OVER,
        seed=seed,
        on_change=None if seen is None else seen.append,
    )
    return mirror.view


def events(changes: list[Change], case: str) -> list[events_pb2.Event]:
    return [
        event for change in changes for event in change.events if event.WhichOneof("event") == case
    ]


# A busy machine needs a while to send the nonces before the deal.
@pytest.mark.parametrize("clock_factor", [2])
@pytest.mark.parametrize("terms", [CANAK_OF_TWO, KLASIK_OF_TWO], ids=["canak", "klasik"])
async def test_two_players_play_a_match_with_both_nonces_in_the_deal(
    world: WholePlatform, terms: lobby_pb2.TableTerms
) -> None:
    """T9, W1, W2: made by one, joined by the other, started by itself; both send a nonce."""
    ada, bo = await world.player("ada"), await world.player("bo")
    table_id = await ada.lobby.create_table(terms)
    assert await bo.lobby.join_table(table_id) == 1
    seen: list[Change] = []
    await asyncio.gather(play(ada, table_id, 1, seen), play(bo, table_id, 2))
    deals = [event.round_dealt for event in events(seen, "round_dealt")]
    assert deals
    for deal in deals:
        assert [len(nonce) for nonce in deal.nonces] == [32, 32]
        assert len(set(deal.nonces)) == 2
    assert len(events(seen, "match_ended")) == 1


async def test_names_are_asked_for_by_id(world: WholePlatform) -> None:
    ada, bo = await world.player("ada"), await world.player("bo")
    await ada.lobby.create_table(CANAK_OF_TWO)
    assert await bo.display_names(["ada", "bo"]) == {"ada": "Ada"}


async def test_quick_match_brings_strangers_to_a_match(world: WholePlatform) -> None:
    names = ["ada", "bo"]
    clients = [await world.player(name) for name in names]
    tickets = await asyncio.gather(*(each.lobby.quick_match(CANAK_OF_TWO) for each in clients))
    assert {ticket.state for ticket in tickets} == {lobby_pb2.TICKET_STATE_SEATED}
    (table_id,) = {ticket.table_id for ticket in tickets}
    assert sorted(ticket.seat for ticket in tickets) == [0, 1]
    await asyncio.gather(*(play(each, table_id, n) for n, each in enumerate(clients)))


async def test_who_cannot_pay_is_dropped_and_told_why(world: WholePlatform) -> None:
    """M2, M9: nobody else's ticket suffers; giving up has made the first player too poor."""
    poor, other, ada, bo = [await world.player(name) for name in ("poor", "other", "ada", "bo")]
    table_id = await poor.lobby.create_table(CANAK_OF_TWO)
    await other.lobby.join_table(table_id)
    mirror = poor.table(table_id).follow()
    async for change in mirror:
        if change.view.phase == table_pb2.PHASE_PLAYING:
            await poor.table(table_id).forfeit()
            break
    rich = lobby_pb2.TableTerms(seat_count=2, stake=WELCOME)
    first = await poor.lobby.enqueue_ticket(rich)
    assert first.state == lobby_pb2.TICKET_STATE_WAITING
    tickets = await asyncio.gather(*(each.lobby.quick_match(rich) for each in (poor, ada, bo)))
    assert (tickets[0].state, tickets[0].reason) == (
        lobby_pb2.TICKET_STATE_DROPPED,
        "INSUFFICIENT_FUNDS",
    )
    assert [ticket.state for ticket in tickets[1:]] == [lobby_pb2.TICKET_STATE_SEATED] * 2
    assert tickets[1].table_id == tickets[2].table_id


async def test_who_sits_is_led_back(world: WholePlatform) -> None:
    """W3: one seat a player; quick match leads to the table where the player sits."""
    ada = await world.player("ada")
    table_id = await ada.lobby.create_table(CANAK_OF_TWO)
    with pytest.raises(RpcFailure) as caught:
        await ada.lobby.create_table(KLASIK_OF_TWO)
    assert (caught.value.reason, caught.value.metadata["table_id"]) == ("ALREADY_SEATED", table_id)
    ticket = await ada.lobby.quick_match(KLASIK_OF_TWO)
    assert (ticket.state, ticket.table_id) == (lobby_pb2.TICKET_STATE_SEATED, table_id)
    found = await ada.where_am_i()
    assert found is not None
    assert found.table_id == table_id


async def test_solo_starts_at_once_and_the_list_shows_it(world: WholePlatform) -> None:
    """O1, M7: one person against the house."""
    ada = await world.player("ada")
    table_id = await ada.lobby.create_table(SOLO_OF_TWO, bot_level=BotLevel.EASY)
    seen: list[Change] = []
    await play(ada, table_id, 3, seen)
    assert len(events(seen, "match_started")) == 1
    assert await ada.where_am_i() is not None or events(seen, "table_closed")


async def test_chips_and_ratings_are_read_by_their_owner(world: WholePlatform) -> None:
    """M1: joining holds the stake, leaving gives it back whole."""
    ada = await world.player("ada")
    assert await ada.wallet.balance_of("ada") == WELCOME
    table_id = await ada.lobby.create_table(CANAK_OF_TWO)
    assert await ada.wallet.balance_of("ada") == WELCOME - 100
    assert [table.table_id async for table in listed(ada)] == [table_id]
    await ada.lobby.leave_table(table_id)
    postings = [posting.amount async for posting in ada.wallet.postings("player:ada")]
    assert postings[:2] == [WELCOME, -100]
    ratings = await ada.rating.of("ada")
    assert {rating.rating_milli for rating in ratings} == {1_200_000}
    board = ada.rating.leaderboard(rating_pb2.LADDER_OVERALL)
    assert [entry async for entry in board] == []
    assert await ada.where_am_i() is None


async def listed(client: OkeyClient) -> AsyncIterator[lobby_pb2.ListedTable]:
    """The list once it has a table."""
    while True:
        tables = []
        try:
            tables = [table async for table in client.lobby.list_tables()]
        except RpcFailure as failure:
            if failure.reason != "TABLE_LIST_UNAVAILABLE":
                raise
        for table in tables:
            yield table
        if tables:
            return


async def test_a_client_says_which_address_it_lacks() -> None:
    client = OkeyClient(token_provider=lambda: "token", lobby_address="127.0.0.1:1")
    for use in (lambda: client.lobby, lambda: client.wallet, lambda: client.rating):
        with pytest.raises(ClientNotConfigured, match="_address"):
            use()
    await client.close()


async def test_a_ticket_is_looked_at_and_taken_back(world: WholePlatform) -> None:
    client = await world.player("ayse")
    asked = await client.lobby.enqueue_ticket(CANAK_OF_TWO)
    assert asked.state == lobby_pb2.TICKET_STATE_WAITING
    assert (await client.lobby.get_ticket()).ticket_id == asked.ticket_id
    await client.lobby.cancel_ticket()
    assert (await client.lobby.get_ticket()).state == lobby_pb2.TICKET_STATE_CANCELLED


async def test_a_rack_is_arranged_for_its_owner(world: WholePlatform) -> None:
    client = await world.player("ayse")
    table_id = await client.lobby.create_table(SOLO_OF_TWO)
    table = client.table(table_id)
    async with asyncio.timeout(20):
        async for change in table.follow():
            if change.view.phase == table_pb2.PHASE_PLAYING:
                break
    arranged = await table.arrange_rack()
    laid = [tile for meld in arranged.melds for tile in meld.tiles]
    assert sorted(laid) == sorted((await table.get()).round.rack)


async def test_friends_play_at_their_own_table_and_whom_they_like_watches(
    world: WholePlatform,
) -> None:
    """The code opens every door of the client, and none opens without it."""
    anna, bert, carl = [await world.player(name) for name in ("anna", "bert", "carl")]
    made = await anna.lobby.create_private_table(CANAK_OF_TWO)
    assert made.invite not in repr(made)
    with pytest.raises(RpcFailure, match="INVITE_REQUIRED"):
        await bert.lobby.join_table(made.table_id)
    assert await bert.lobby.join_table(made.table_id, invite=made.invite) == 1
    guest = carl.table(made.table_id, made.invite)
    assert (await guest.get()).viewer == -1
    with pytest.raises(RpcFailure, match="INVITE_REQUIRED"):
        await carl.table(made.table_id).get()
    async with guest.play() as seat:
        async for change in seat:
            assert change.view.viewer == -1
            break
    async for change in guest.follow():
        assert change.view.viewer == -1
        break
    async with asyncio.timeout(60):
        await asyncio.gather(play(anna, made.table_id, 1), play(bert, made.table_id, 2))
    assert (await guest.finished_round(1, 1)).match_id == f"{made.table_id}-1"


async def test_a_watched_list_is_whole_at_each_change(world: WholePlatform) -> None:
    anna, bert, looker = [await world.player(name) for name in ("anna", "bert", "looker")]
    first = await anna.lobby.create_table(CANAK_OF_TWO)
    seen: list[list[str]] = []
    async with asyncio.timeout(20):
        wanted = lobby_pb2.ListTablesRequest(only_joinable=True)
        async for tables in looker.lobby.watch_tables(wanted):
            seen.append([table.table_id for table in tables])
            if seen[-1] == [first]:
                second = await bert.lobby.create_table(CANAK_OF_TWO)
            if len(seen[-1]) == 2:
                assert seen[-1] == [second, first], "the newest first"
                await anna.lobby.leave_table(first)
            if len(seen) > 2 and seen[-1] == [second]:
                break

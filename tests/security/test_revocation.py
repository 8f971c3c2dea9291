"""A revoked token is refused by every RPC of every service that takes it, and its streams end."""

import asyncio
import json
from base64 import urlsafe_b64decode
from collections.abc import Collection
from typing import Any

import grpc
import pytest
from typer.testing import CliRunner

from okey.api.engine.v1 import (
    engine_pb2,
    engine_pb2_grpc,
    players_pb2,
    players_pb2_grpc,
    revocations_pb2,
    revocations_pb2_grpc,
)
from okey.api.events.v1 import events_pb2, events_pb2_grpc
from okey.api.lobby.v1 import lobby_pb2, lobby_pb2_grpc
from okey_runtime.identity import Role
from okey_runtime.service_token import fixed_token
from services.okeyctl.app import app
from tests.integration.engine.platform import refused
from tests.integration.engine.play_stream import stream_of
from tests.security.rpcs import callee_of, every_rpc
from tests.security.stand import PATIENCE_S, Everything
from tests.security.test_every_rpc import allowed, refusals

FOLLOWERS = ("lobby", "engine", "wallet", "rating")
"""Services that take players' tokens, and so follow the list; bots take the engine's alone."""
Ended = engine_pb2.StreamEndReason


def id_of(token: str) -> str:
    """Its ``jti``."""
    claims: dict[str, str] = json.loads(urlsafe_b64decode(token.split(".")[1] + "=="))
    return claims["jti"]


async def revoker(
    world: Everything, role: Role = Role.IDENTITY
) -> revocations_pb2_grpc.RevocationServiceStub:
    channel = await world.channel(f"some-{role}", role)
    return revocations_pb2_grpc.RevocationServiceStub(channel)


async def revoke_player(world: Everything, player: str) -> None:
    request = revocations_pb2.RevokeTokensRequest(player_id=player, reason="stolen")
    assert (await (await revoker(world)).RevokeTokens(request)).changed


async def everywhere(
    world: Everything,
    token: str,
    reason: str = "TOKEN_REVOKED",
    homes: Collection[str] = FOLLOWERS,
) -> None:
    """Return once every service that follows the list refuses the token."""
    first = {rpc.home: rpc for rpc in every_rpc() if not rpc.takes_stream}
    async with asyncio.timeout(PATIENCE_S):
        for home in homes:
            while (await world.call(first[home], [b"\xff"], token)).reason != reason:
                pass


@pytest.mark.parametrize("role", Role)
async def test_no_rpc_takes_a_revoked_token(world: Everything, role: Role) -> None:
    """RPC x caller: with the very token that each RPC of its table would let in."""
    for home in FOLLOWERS:
        rpcs = [rpc for rpc in every_rpc() if rpc.home == home]
        token, good = (
            world.issuer.token(f"some-{role}", [role], to=callee_of(home, role)) for _ in range(2)
        )
        request = revocations_pb2.RevokeTokenRequest(token_id=id_of(token), reason="leaked")
        assert (await (await revoker(world)).RevokeToken(request)).changed
        await everywhere(world, token, homes=[home])
        for name, outcome in (await refusals(world, token, rpcs=rpcs)).items():
            found = (outcome.code, outcome.reason)
            assert found == (grpc.StatusCode.UNAUTHENTICATED, "TOKEN_REVOKED"), name
        others = (await refusals(world, good, patience_s=0.3, rpcs=rpcs)).values()
        assert "TOKEN_REVOKED" not in {outcome.reason for outcome in others}


async def test_no_rpc_takes_a_token_that_a_revoked_player_was_given_before(
    world: Everything,
) -> None:
    before = world.issuer.token("stolen")
    await revoke_player(world, "stolen")
    await everywhere(world, before)
    homes = {rpc.short: rpc.home for rpc in every_rpc()}
    for name, outcome in (await refusals(world, before)).items():
        if homes[name] in FOLLOWERS:
            assert outcome.reason == "TOKEN_REVOKED", name
    after = world.issuer.token("stolen", ahead_ms=2_000)
    outcomes = (await refusals(world, after, patience_s=0.3)).values()
    assert not {"TOKEN_REVOKED", "TOKEN_INVALID"} & {outcome.reason for outcome in outcomes}


def test_every_service_that_takes_players_tokens_is_among_them() -> None:
    assert {rpc.home for rpc in every_rpc() if Role.PLAYER in allowed(rpc)} == set(FOLLOWERS)


async def test_table_streams_of_a_revoked_player_end_with_the_reason(world: Everything) -> None:
    table_id = await world.open_table("ends")
    token = world.issuer.token("ends")
    channel = await world.channel_with(fixed_token(token))
    watching = engine_pb2_grpc.TableServiceStub(channel).WatchTable(
        engine_pb2.WatchTableRequest(table_id=table_id)
    )
    other = (await world.tables_as("other")).WatchTable(
        engine_pb2.WatchTableRequest(table_id=table_id)
    )
    async with asyncio.timeout(PATIENCE_S), stream_of(world, "ends", table_id) as play:
        await play.attach()
        await play.read()
        await watching.read()
        await other.read()
        await revoke_player(world, "ends")
        await play.rest()
        assert play.end is not None
        assert play.end.reason == Ended.STREAM_END_REASON_TOKEN_REVOKED
        [*_, last] = [message async for message in watching]
        assert last.end.reason == Ended.STREAM_END_REASON_TOKEN_REVOKED
    assert not other.done()
    other.cancel()


async def test_lobby_streams_of_a_revoked_player_end_with_the_reason(world: Everything) -> None:
    channel = await world.channel("waits", to="lobby")
    lobby = lobby_pb2_grpc.LobbyServiceStub(channel)
    terms = lobby_pb2.TableTerms(seat_count=4, stake=100)
    await lobby.EnqueueTicket(lobby_pb2.EnqueueTicketRequest(terms=terms))
    ticket, tables = (
        lobby.WatchTicket(lobby_pb2.WatchTicketRequest()),
        lobby.WatchTables(lobby_pb2.WatchTablesRequest()),
    )
    async with asyncio.timeout(PATIENCE_S):
        for stream in (ticket, tables):
            await stream.read()
        await revoke_player(world, "waits")
        for stream in (ticket, tables):
            assert (await refused(_rest(stream))).reason == "TOKEN_REVOKED"


async def _rest(stream: Any) -> None:
    async for _ in stream:
        pass


async def test_a_subscription_ends_with_its_revoked_token(world: Everything) -> None:
    token = world.issuer.token("team", [Role.INTEGRATOR])
    channel = await world.channel_with(fixed_token(token))
    rows = events_pb2_grpc.EventServiceStub(channel).Subscribe(events_pb2.SubscribeRequest())
    await world.open_table("subscribed")
    await rows.read()
    request = revocations_pb2.RevokeTokenRequest(token_id=id_of(token), reason="leaked")
    await (await revoker(world, Role.OPERATOR)).RevokeToken(request)
    async with asyncio.timeout(PATIENCE_S):
        [*_, last] = [row async for row in rows]
    assert last.end == events_pb2.SUBSCRIBE_END_REASON_TOKEN_REVOKED


BAD: dict[str, tuple[revocations_pb2.RevokeTokensRequest, str]] = {
    "the house": (
        revocations_pb2.RevokeTokensRequest(player_id="house:rake", reason="x"),
        "PLAYER_RESERVED",
    ),
    "a service": (
        revocations_pb2.RevokeTokensRequest(player_id="engine", reason="x"),
        "PLAYER_RESERVED",
    ),
    "no player": (
        revocations_pb2.RevokeTokensRequest(player_id="a b", reason="x"),
        "INVALID_FIELD",
    ),
    "no reason": (revocations_pb2.RevokeTokensRequest(player_id="ayse"), "INVALID_FIELD"),
    "the year 2100": (
        revocations_pb2.RevokeTokensRequest(
            player_id="ayse", reason="x", issued_before_ms=4_102_444_800_000
        ),
        "INVALID_FIELD",
    ),
}


@pytest.mark.parametrize("what", BAD)
async def test_what_cannot_be_revoked_is_refused_and_changes_nothing(
    world: Everything, what: str
) -> None:
    request, reason = BAD[what]
    stub = await revoker(world, Role.OPERATOR)
    before = (await stub.ListRevocations(revocations_pb2.ListRevocationsRequest())).revocations
    assert (await refused(stub.RevokeTokens(request))).reason == reason
    after = (await stub.ListRevocations(revocations_pb2.ListRevocationsRequest())).revocations
    assert list(after) == list(before)


async def test_an_erased_players_tokens_are_revoked(world: Everything) -> None:
    await world.open_table("erased")
    table = await world.tables_as("erased")
    table_id = await world.where_is("erased")
    await table.LeaveSeat(engine_pb2.LeaveSeatRequest(table_id=table_id, request_id="leave-0001"))
    token = world.issuer.token("erased")
    engine = players_pb2_grpc.PlayerDataServiceStub(await world.channel("op", Role.OPERATOR))
    await engine.ErasePlayer(players_pb2.ErasePlayerRequest(player_id="erased", reason="asked"))
    await everywhere(world, token)


class Command:
    """``okeyctl token revoke``, as an operator gives it."""

    def __init__(self, world: Everything) -> None:
        token = world.issuer.service_token_dir(world.folder, Role.OPERATOR)
        self._way = [f"--engine={world.engine_address}", f"--token-file={token}"]

    async def __call__(self, *arguments: str) -> tuple[int, str]:
        """Status, and all that it said."""
        given = ["token", "revoke", "--reason=stolen", *arguments, *self._way]
        result = await asyncio.to_thread(CliRunner().invoke, app, given)
        return result.exit_code, result.output


async def test_an_operator_revokes_a_players_tokens_by_command(world: Everything) -> None:
    revoke, token = Command(world), world.issuer.token("commanded")
    status, said = await revoke("--player", "commanded")
    assert (status, "commanded is revoked" in said) == (0, True), said
    await everywhere(world, token)
    status, said = await revoke("--player", "commanded", "--before", "2026-01-31T10:00:00Z")
    assert (status, "was revoked before" in said or "nothing to revoke" in said) == (0, True), said


async def test_an_operator_revokes_one_token_by_command(world: Everything) -> None:
    revoke, token = Command(world), world.issuer.token("one")
    status, said = await revoke("--id", id_of(token), "--json")
    assert (status, json.loads(said)["changed"]) == (0, True), said
    await everywhere(world, token)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ((), "either a player"),
        (("--player", "a", "--id", "b"), "either a player"),
        (("--player", "a b"), "no player id"),
        (("--player", "a", "--before", "yesterday"), "'yesterday' is no time"),
        (("--player", "a", "--before", "2026-01-31T10:00:00"), "no time zone"),
        (("--player", "a", "--before", "2100-01-31T10:00:00Z"), "future"),
        (("--player", "a", "--before", "1969-12-31"), "before 1970"),
        (("--player", "a", "--expires", "2026-01-31T10:00:00Z"), "--expires with --id"),
        (("--id", "a", "--before", "2026-01-31T10:00:00Z"), "--before goes with --player"),
        (("--id", "a b"), "INVALID_FIELD"),
        (("--player", "house:rake"), "house:rake' is an id of the house"),
    ],
)
async def test_a_command_that_cannot_be_done_says_why(
    world: Everything, arguments: tuple[str, ...], says: str
) -> None:
    status, said = await Command(world)(*arguments)
    assert (status, says in said) == (2, True), said


async def test_a_player_may_have_several_sessions_by_default(world: Everything) -> None:
    table_id = await world.open_table("several")
    tokens = world.issuer.token("several"), world.issuer.token("several", ahead_ms=2_000)
    request = engine_pb2.WatchTableRequest(table_id=table_id)
    for token in (*tokens, tokens[0]):
        channel = await world.channel_with(fixed_token(token))
        stream = engine_pb2_grpc.TableServiceStub(channel).WatchTable(request)
        first: Any = await stream.read()
        assert first.WhichOneof("message") == "snapshot"
        stream.cancel()

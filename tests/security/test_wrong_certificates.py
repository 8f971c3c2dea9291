"""Every RPC over mutual TLS: a token counts only with the certificate of its own role."""

import asyncio
from collections.abc import AsyncIterator

import grpc
import pytest

from okey.api.engine.v1 import engine_pb2
from okey_runtime.audiences import PUBLIC_ROLES
from okey_runtime.channel import open_channel
from okey_runtime.errors import from_rpc_error
from okey_runtime.identity import Role
from tests.fixtures.valkey import Valkey
from tests.security.rpcs import Rpc, callee_of, every_rpc
from tests.security.stand import balanced
from tests.security.test_encrypted import NAMED, Encrypted, encrypted
from tests.security.test_every_rpc import UNREADABLE, allowed

RPCS = every_rpc()
PRIVATE = sorted(set(Role) - PUBLIC_ROLES)


@pytest.fixture(scope="module")
async def world(
    tmp_path_factory: pytest.TempPathFactory, valkey_server: Valkey
) -> AsyncIterator[Encrypted]:
    async with encrypted(tmp_path_factory.mktemp("world"), valkey_server) as running:
        yield running


async def reasons(world: Encrypted, role: Role, certificate: str) -> dict[Rpc, str]:
    """How each RPC refuses the right token of the role over the certificate; none is carried out,
    since what is sent is no message.
    """
    found = {}
    for home in sorted({rpc.home for rpc in RPCS}):
        token = world.issuer.metadata(f"some-{role}", role, to=callee_of(home, role))
        security = world.security(certificate).named("engine" if home == "engine" else "")
        async with open_channel(world.address(home), token=token, security=security) as channel:
            for rpc in RPCS:
                if rpc.home == home:
                    found[rpc] = await reason(channel, rpc, speaks=role in allowed(rpc))
    return found


async def reason(channel: grpc.aio.Channel, rpc: Rpc, *, speaks: bool) -> str:
    """A stream that is to be refused says nothing (``refusals`` tells why)."""
    kind = ("stream" if rpc.takes_stream else "unary", "stream" if rpc.gives_stream else "unary")
    method = getattr(channel, "_".join(kind))(rpc.path)
    over = asyncio.Event()

    async def said() -> AsyncIterator[bytes]:
        if speaks:
            yield UNREADABLE
        await over.wait()

    call = method(said() if rpc.takes_stream else UNREADABLE, timeout=10)
    try:
        await (call.read() if rpc.gives_stream else call)
    except grpc.aio.AioRpcError as error:
        return from_rpc_error(error).reason
    finally:
        over.set()
        call.cancel()
    raise AssertionError(f"{rpc.short} was not refused")


@pytest.mark.parametrize("certificate", [*NAMED, "edge"])
async def test_each_rpc_takes_a_role_only_over_its_own_certificate(
    world: Encrypted, certificate: str
) -> None:
    """Over an engine's, engines take what it has passed on with the caller's own token."""
    for role in PRIVATE:
        for rpc, found in (await reasons(world, role, certificate)).items():
            is_own = certificate == role
            is_passed_on = certificate == "engine" and rpc.home == "engine"
            expected = "MALFORMED_REQUEST" if role in allowed(rpc) else "ROLE_REFUSED"
            if role in NAMED and not (is_own or is_passed_on):
                expected = "CERTIFICATE_MISMATCH"
            assert found == expected, f"{rpc.short} as {role} over {certificate}"


@pytest.mark.parametrize("role", sorted(PUBLIC_ROLES))
async def test_players_and_integrators_come_over_any_certificate(
    world: Encrypted, role: Role
) -> None:
    for certificate in ("gateway", "edge", "lobby"):
        for rpc, found in (await reasons(world, role, certificate)).items():
            expected = "MALFORMED_REQUEST" if role in allowed(rpc) else "ROLE_REFUSED"
            assert found == expected, f"{rpc.short} as {role} over {certificate}"


async def test_a_call_of_the_lobby_is_passed_on_to_the_engine_that_has_the_table(
    world: Encrypted,
) -> None:
    """With the lobby's own token, over an engine's certificate: each table is asked for at both
    engines, so once at the wrong one.
    """
    second = await world.start_beside("second")
    await balanced(world)
    tables = {await world.open_table(f"host-{number}") for number in range(4)}
    for at in (world.engine_address, second.address):
        lobby = await world.tables_as("lobby", Role.LOBBY, at=at)
        for table_id in tables:
            await lobby.GetTable(engine_pb2.GetTableRequest(table_id=table_id))
    operator = await world.operator(second.address)
    for table_id in tables:
        await operator.VoidTable(
            engine_pb2.VoidTableRequest(
                table_id=table_id, reason="over", request_id=world.request_id()
            )
        )
    await world.stop_beside("second")

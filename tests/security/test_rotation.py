"""Keys that are rotated while streams are open: those go on."""

import pytest

from okey.api.engine.v1 import engine_pb2, engine_pb2_grpc
from okey_runtime.auth import create_signing_key, load_signing_key, mint, write_jwks
from okey_runtime.clock import SystemClock
from okey_runtime.identity import Role
from okey_runtime.service_token import fixed_token
from tests.integration.engine.platform import act, playing, refused, view_of
from tests.integration.engine.play_stream import stream_of
from tests.security.forging import HOUR_MS
from tests.security.stand import Everything


@pytest.mark.parametrize("is_trusted_still", [True, False])
async def test_an_open_stream_outlives_its_key(world: Everything, is_trusted_still: bool) -> None:
    """W3: commands are taken on it; whoever calls anew is judged by the keys of then."""
    old = load_signing_key(world.folder / "signing-key.json")
    new = create_signing_key(world.folder / f"next-{is_trusted_still}.json", "next")
    table_id, mover, _ = await playing(world)
    as_before = await world.tables_as(mover)
    now_ms, role = SystemClock().now_ms(), [Role.PLAYER]
    with_new = fixed_token(mint(new, subject=mover, roles=role, now_ms=now_ms, ttl_ms=HOUR_MS))
    as_after = engine_pb2_grpc.TableServiceStub(await world.channel_with(with_new))
    where = engine_pb2.WhereAmIRequest()
    try:
        async with stream_of(world, mover, table_id) as stream:
            await stream.attach()
            # An answer says that the token was looked at, before its key goes.
            assert await stream.read() is not None
            view = await view_of(world, table_id, mover)
            write_jwks(world.issuer.jwks_file, *([old] if is_trusted_still else []), new)
            if is_trusted_still:
                await as_before.WhereAmI(where)
            else:
                assert (await refused(as_before.WhereAmI(where))).reason == "TOKEN_INVALID"
            assert (await as_after.WhereAmI(where)).table_id == table_id
            await stream.say(engine_pb2.PlayRequest(act=act(world, view)))
            (result,) = await stream.until_answered(1)
            assert result.seq > view.seq
    finally:
        write_jwks(world.issuer.jwks_file, old)
    operator = await world.operator()
    await operator.VoidTable(
        engine_pb2.VoidTableRequest(table_id=table_id, reason="over", request_id=world.request_id())
    )

"""What services look at to say whether they are well: databases, Redis, each other."""

import time
from pathlib import Path
from typing import Final

import grpc
from pydantic import SecretStr
from redis.asyncio import Redis
from redis.exceptions import RedisError
from sqlalchemy import Connection, text

from okey.api.common.v1 import status_pb2, status_pb2_grpc
from okey_runtime.clock import Clock
from okey_runtime.database import Database, DatabaseAway, DatabaseBusy, parse_url
from okey_runtime.errors import from_rpc_error
from okey_runtime.schema import SchemaUnknown, is_newer, newest_schema, schema_of
from okey_runtime.service_token import ServiceTokenMissing
from okey_runtime.skew import judge_skew, skew_ms, tell_skew
from okey_runtime.status import OK, WARNING, WRONG, Found, Look, Status

_PEER_TIMEOUT_S: Final = 3.0

# SQLite runs in our own process, by our own clock.
_NOW: Final = text("SELECT CAST(extract(epoch FROM clock_timestamp()) * 1000 AS BIGINT)")


def tell_database(
    status: Status, database: Database, url: str | SecretStr, clock: Clock, migrations: Path
) -> None:
    """Have the status say which database it is, its schema, and whether it is well."""
    parsed = parse_url(url)
    at = f"{parsed.host}:{parsed.port or 5432}" if parsed.host else ""
    place = f"{parsed.get_backend_name()}://{at}/{parsed.database}"
    newest = newest_schema(migrations)
    status.fact("database", lambda: place)
    status.fact("schema", lambda: newest)
    status.check("database", database_check(database, clock, newest))


def database_check(database: Database, clock: Clock, newest: str) -> Look:
    """Whether it answers, whether its schema is this version's, whether its clock is ours."""

    def ask(connection: Connection) -> tuple[str, int | None]:
        is_remote = connection.dialect.name == "postgresql"
        return schema_of(connection), connection.execute(_NOW).scalar() if is_remote else None

    async def look() -> Found:
        before_ms = clock.now_ms()
        try:
            schema, its_ms = await database.read(ask)
        except (DatabaseAway, DatabaseBusy) as error:
            advice = "see whether the database runs, takes connections, and is the one that "
            return Found(WRONG, f"does not answer: {error}", f"{advice}OKEY_DATABASE_URL names")
        after_ms = clock.now_ms()
        told = f"{database.dialect} answers in {after_ms - before_ms} ms, schema {schema}"
        if schema != newest:
            return _other_schema(told, schema, newest)
        if its_ms is None:
            return Found(OK, told)
        ahead_ms = skew_ms(its_ms, before_ms, after_ms)
        state, advice = judge_skew(ahead_ms)
        return Found(state, f"{told}, its clock {tell_skew(ahead_ms)} this process's", advice)

    return look


def _other_schema(told: str, schema: str, newest: str) -> Found:
    told = f"{told}, this version's is {newest}"
    try:
        if is_newer(schema, newest):
            advice = "a newer version has migrated it: let the roll-out end, or start that version"
            return Found(WARNING, told, advice)
    except SchemaUnknown as error:
        return Found(WRONG, told, str(error))
    return Found(WRONG, told, "run the service's migration (the job, or OKEY_MIGRATES=true)")


def redis_check(redis: Redis) -> Look:
    """Whether it answers."""

    async def look() -> Found:
        began = time.monotonic()
        try:
            await redis.ping()
        except (RedisError, OSError) as error:
            advice = "see whether it runs, and is the one that OKEY_REDIS_URL names"
            return Found(WRONG, f"does not answer: {error}", advice)
        return Found(OK, f"answers in {(time.monotonic() - began) * 1000:.0f} ms")

    return look


def peer_check(channel: grpc.aio.Channel, address: str, clock: Clock) -> Look:
    """Whether a service that we call is there, takes our token, and runs by our clock."""
    stub = status_pb2_grpc.StatusServiceStub(channel)

    async def look() -> Found:
        before_ms = clock.now_ms()
        try:
            answer = await stub.GetStatus(status_pb2.GetStatusRequest(), timeout=_PEER_TIMEOUT_S)
        except grpc.aio.AioRpcError as error:
            return _refused(address, error)
        except ServiceTokenMissing as error:
            return Found(WRONG, str(error), "give this service a token of its own")
        ahead_ms = skew_ms(answer.now_ms, before_ms, clock.now_ms())
        state, advice = judge_skew(ahead_ms)
        who = answer.name or answer.service
        text = f"{who} at {address} takes our token, its clock {tell_skew(ahead_ms)} ours"
        if answer.blocked_by and state == OK:
            text = f"{who} at {address} takes no work: {', '.join(answer.blocked_by)}"
            return Found(WARNING, text, f"look at {who} itself")
        return Found(state, text, advice)

    return look


def _refused(address: str, error: grpc.aio.AioRpcError) -> Found:
    failure = from_rpc_error(error)
    match failure.code:
        case grpc.StatusCode.UNAUTHENTICATED:
            advice = "see our token and certificate for it, both sides' JWKS files, issuers, clocks"
            return Found(WRONG, f"{address} does not take our token: {failure}", advice)
        case grpc.StatusCode.PERMISSION_DENIED:
            advice = "give this service a token with its own role"
            return Found(WRONG, f"{address} does not let us in: {failure}", advice)
        case _:
            advice = "see whether it runs, and whether the address is right"
            return Found(WRONG, f"{address} does not answer: {failure}", advice)

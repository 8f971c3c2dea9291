"""PostgreSQL behind ``Database``: asyncpg through SQLAlchemy, conflicts retried, lost connections
named.
"""

import asyncio
import random
from collections.abc import Awaitable, Callable
from typing import Final

from sqlalchemy.engine import URL
from sqlalchemy.exc import DBAPIError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError
from sqlalchemy.ext.asyncio import AsyncEngine, create_async_engine

from okey_runtime.storage import DatabaseAway, DatabaseBusy, Isolation, T, Work

_CONNECT_TIMEOUT_S: Final = 5.0
STATEMENT_TIMEOUT_S: Final = 30.0
POOL_TIMEOUT_S: Final = 10.0

MAX_TRIES: Final = 12
_FIRST_WAIT_S: Final = 0.002
_LAST_WAIT_S: Final = 0.25

SERIALIZATION_FAILURE: Final = "40001"
DEADLOCK_DETECTED: Final = "40P01"
LOCK_NOT_AVAILABLE: Final = "55P03"
READ_ONLY_TRANSACTION: Final = "25006"
_CONFLICTS: Final = frozenset({SERIALIZATION_FAILURE, DEADLOCK_DETECTED})
# Class 08 (connection), 57P0x (shut down, crashed, starting up), 53300 (too many connections),
# 25006 (a former primary that has become read-only).
_AWAY_STATES: Final = frozenset({"57P01", "57P02", "57P03", "53300", READ_ONLY_TRANSACTION})


class PostgresBackend:
    """A PostgreSQL database; ``connections`` bounds how many transactions run at once."""

    def __init__(
        self, url: URL, connections: int, idle_ms: int = int(STATEMENT_TIMEOUT_S * 1000)
    ) -> None:
        self._engine = postgres_engine(url, connections, idle_ms)

    async def transact(self, work: Work[T], isolation: Isolation) -> T:
        """Run the work in one transaction, again from its start after a conflict, twelve times at
        most.
        """
        return await _retried(lambda: self._once(work, isolation, read_only=False), _AWAY_STATES)

    async def read(self, work: Work[T]) -> T:
        """Run the work on one snapshot, in a transaction that cannot write."""
        # Here a refused write is the work's own fault.
        return await _retried(
            lambda: self._once(work, Isolation.REPEATABLE_READ, read_only=True),
            _AWAY_STATES - {READ_ONLY_TRANSACTION},
        )

    async def scrub(self) -> None:
        """Nothing: the server's vacuum frees what was deleted, and its logs are the operators'."""

    async def close(self) -> None:
        """Close the pool."""
        await self._engine.dispose()

    async def _once(self, work: Work[T], isolation: Isolation, *, read_only: bool) -> T:
        async with self._engine.connect() as connection:
            await connection.execution_options(
                isolation_level=isolation.value, postgresql_readonly=read_only
            )
            async with connection.begin():
                return await connection.run_sync(work)


def postgres_engine(
    url: URL,
    connections: int,
    idle_ms: int = int(STATEMENT_TIMEOUT_S * 1000),
    statement_s: float | None = None,
) -> AsyncEngine:
    """An async engine; a bare ``postgresql://`` is taken to mean asyncpg. The server ends a
    transaction whose client says nothing for ``idle_ms``; a statement may take ``statement_s``, by
    default ``STATEMENT_TIMEOUT_S``.
    """
    return create_async_engine(
        url.set(drivername="postgresql+asyncpg"),
        pool_size=connections,
        max_overflow=0,
        pool_timeout=POOL_TIMEOUT_S,
        hide_parameters=True,
        connect_args={
            "timeout": _CONNECT_TIMEOUT_S,
            # Also ends the wait for a server that is cut off and never answers.
            "command_timeout": STATEMENT_TIMEOUT_S if statement_s is None else statement_s,
            "server_settings": {
                "application_name": "okey",
                "idle_in_transaction_session_timeout": f"{idle_ms}ms",
            },
        },
    )


async def _retried(attempt: Callable[[], Awaitable[T]], away_states: frozenset[str]) -> T:
    wait_s = _FIRST_WAIT_S
    for tries_left in range(MAX_TRIES - 1, -1, -1):
        try:
            return await attempt()
        except DBAPIError as error:
            state = _state(error)
            if state not in _CONFLICTS:
                raise away(error, away_states) or error from error.orig
            if not tries_left:
                raise DatabaseBusy(
                    f"the transaction met a conflict {MAX_TRIES} times in a row; try again later"
                ) from error
        except PoolTimeoutError as error:
            raise DatabaseBusy(
                f"no connection became free in {POOL_TIMEOUT_S:g} s; try again later"
            ) from error
        except (OSError, TimeoutError) as error:
            raise DatabaseAway(f"the database does not answer ({type(error).__name__})") from error
        # The jitter keeps those who met from meeting again; nothing depends on its value.
        await asyncio.sleep(wait_s * random.uniform(0.5, 1.5))
        wait_s = min(2 * wait_s, _LAST_WAIT_S)
    raise AssertionError("the last try returns or raises")


def away(error: DBAPIError, away_states: frozenset[str] = _AWAY_STATES) -> DatabaseAway | None:
    """What to raise instead if the server is the trouble; None if the statement is."""
    state = _state(error)
    is_lost = error.connection_invalidated or (
        isinstance(state, str) and (state.startswith("08") or state in away_states)
    )
    if not is_lost:
        return None
    return DatabaseAway(
        "the database was lost; the same request may be sent again with the same key"
    )


def busy(error: DBAPIError) -> DatabaseBusy | None:
    """What to raise instead if somebody else's lock was waited for in vain; None if not."""
    if _state(error) != LOCK_NOT_AVAILABLE:
        return None
    return DatabaseBusy("another transaction kept a lock that was needed; try again later")


def _state(error: DBAPIError) -> object:
    return getattr(error.orig, "sqlstate", None)

"""PostgreSQL behind ``Database``: asyncpg through SQLAlchemy, conflicts retried, errors named.

Every error of the server is an outage, except the few that are listed here.
"""

import asyncio
import random
from collections.abc import Awaitable, Callable
from typing import Final

from sqlalchemy import event
from sqlalchemy.engine import URL, ExceptionContext
from sqlalchemy.exc import DBAPIError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError
from sqlalchemy.ext.asyncio import AsyncEngine, create_async_engine

from okey.errors import OkeyError
from okey_runtime.storage import (
    DatabaseAway,
    DatabaseBusy,
    DatabaseLocked,
    DatabaseRefused,
    Isolation,
    T,
    Work,
    tell_error,
)

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
# The server is another than it was: shut down, crashed, starting up, or read-only since a failover.
_ROLE_CHANGED: Final = frozenset({"57P01", "57P02", "57P03", READ_ONLY_TRANSACTION})
# Data exceptions, constraints, and what triggers raise: it is the statement's values.
_REFUSALS: Final = ("22", "23", "P0")
# In a migration also wrong SQL and what the server does not support: the script is wrong.
_FAULTS_OF_SCRIPTS: Final = (*_REFUSALS, "0A", "21", "2B", "42", "44")


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
        return await _retried(lambda: self._once(work, isolation, read_only=False))

    async def read(self, work: Work[T]) -> T:
        """Run the work on one snapshot, in a transaction that cannot write."""
        # Here a refused write is the work's own fault.
        return await _retried(
            lambda: self._once(work, Isolation.REPEATABLE_READ, read_only=True),
            (*_REFUSALS, READ_ONLY_TRANSACTION),
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
    engine = create_async_engine(
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
    event.listen(engine.sync_engine, "handle_error", _drop_connections_to_another_role)
    return engine


def _drop_connections_to_another_role(context: ExceptionContext) -> None:
    """Have the pool drop all connections to a server that changed its role: new ones ask for the
    address of its name again.
    """
    connection = context.connection
    options = connection.get_execution_options() if connection is not None else {}
    state = getattr(context.original_exception, "sqlstate", None)
    if state in _ROLE_CHANGED and not options.get("postgresql_readonly"):
        context.is_disconnect = True


async def _retried(attempt: Callable[[], Awaitable[T]], refusals: tuple[str, ...] = _REFUSALS) -> T:
    wait_s = _FIRST_WAIT_S
    for tries_left in range(MAX_TRIES - 1, -1, -1):
        try:
            return await attempt()
        except DBAPIError as error:
            if _state(error) not in _CONFLICTS:
                raise named(error, refusals) from error.orig
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


def named(error: DBAPIError, refusals: tuple[str, ...] = _REFUSALS) -> OkeyError:
    """What to raise instead of a driver's error: an outage, unless its SQLSTATE begins with one of
    the ``refusals``, or says that somebody else's lock was waited for in vain.
    """
    state = _state(error)
    if state == LOCK_NOT_AVAILABLE:
        return DatabaseLocked("another transaction kept a lock that was needed; try again later")
    if not _is_foreseen(error, state):
        tell_error(state, str(error.orig), error.statement)
    if state.startswith(refusals):
        return DatabaseRefused(f"the database refused the work (SQLSTATE {state})")
    return DatabaseAway(
        f"the database failed (SQLSTATE {state or 'none: the connection was lost'}); the same "
        "request may be sent again with the same key"
    )


def _is_foreseen(error: DBAPIError, state: str) -> bool:
    """Whether the server is gone or another, which needs no line beside the outage's."""
    return error.connection_invalidated or state in _ROLE_CHANGED or state[:2] in ("", "08")


def is_scripts_fault(error: DBAPIError) -> bool:
    """Whether it is a migration's script that is wrong, and not the server."""
    return _state(error).startswith(_FAULTS_OF_SCRIPTS)


def _state(error: DBAPIError) -> str:
    """The SQLSTATE, or "" where there is none: the server did not say anything."""
    state = getattr(error.orig, "sqlstate", None)
    return state if isinstance(state, str) else ""

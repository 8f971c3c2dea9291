"""The hashes of invite codes, on every database."""

import pytest

from okey_runtime.database import Database
from services.engine.appending import Append
from services.engine.invite_store import KEPT, InviteStore
from services.engine.journal import Journal

A, B = "a" * 26, "b" * 26


@pytest.fixture
async def store(engine_database: Database) -> InviteStore:
    for table_id in (A, B):
        await Journal(engine_database).append([Append(table_id, 1, 5, b"", None)])
    return InviteStore(engine_database)


def hashed(number: int) -> bytes:
    return bytes([number]) * 32


async def test_a_code_is_its_tables(store: InviteStore) -> None:
    await store.add(A, hashed(1), 10)
    await store.add(A, hashed(2), 10)
    await store.add(B, hashed(3), 10)
    assert [await store.has(A, hashed(n)) for n in (1, 2, 3)] == [True, True, False]


async def test_the_newest_codes_hold(store: InviteStore) -> None:
    """A table whose making was asked for again and again does not fill the database."""
    await store.add(B, hashed(0), 0)
    for number in range(KEPT + 3):
        await store.add(A, hashed(number), 100 + number)
    holds = [await store.has(A, hashed(number)) for number in range(KEPT + 3)]
    assert holds == [False] * 3 + [True] * KEPT
    assert await store.has(B, hashed(0))

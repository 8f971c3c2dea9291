"""A database that replays what Alembic asked of another one has the same schema and rows."""

import sqlite3
from pathlib import Path

import pytest

import services
from okey_runtime.migrations import migrate
from tests.fixtures import migrated

SERVICES = ("engine", "rating", "wallet")


def content(path: Path) -> list[str]:
    database = sqlite3.connect(path)
    try:
        return list(database.iterdump())
    finally:
        database.close()


@pytest.mark.parametrize("name", SERVICES)
async def test_a_replayed_migration_makes_the_same_database(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setattr(migrated, "_recorded", {})
    scripts = Path(services.__file__ or "").parent / name / "migrations"
    paths = [tmp_path / "first.db", tmp_path / "second.db"]
    for path in paths:
        await migrate(f"sqlite:///{path}", scripts)
    assert migrated._recorded, "the second one was not replayed"
    assert content(paths[0]) == content(paths[1])

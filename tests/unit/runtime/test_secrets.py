"""Passwords of databases and of Redis stand in no error and no log, whatever goes wrong."""

import traceback
from pathlib import Path

import pytest
import redis.exceptions
from pydantic import SecretStr
from structlog.testing import capture_logs

from okey_runtime.config import ServiceSettings
from okey_runtime.database import Database
from okey_runtime.environment import SettingsRefused
from okey_runtime.migrations import migrate
from okey_runtime.redis import open_redis
from okey_runtime.storage import DatabaseAway

PASSWORD = "correct-horse-battery-staple"


async def test_a_database_that_is_away_tells_no_password(unused_port: int, tmp_path: Path) -> None:
    url = f"postgresql://okey:{PASSWORD}@127.0.0.1:{unused_port}/okey"
    database = Database(SecretStr(url))
    with capture_logs() as lines:
        with pytest.raises(DatabaseAway) as asked:
            await database.read(lambda connection: connection.exec_driver_sql("SELECT 1").scalar())
        with pytest.raises(DatabaseAway) as migrated:
            await migrate(SecretStr(url), tmp_path)
    await database.close()
    for raised in (asked.value, migrated.value):
        assert PASSWORD not in "".join(traceback.format_exception(raised))
    assert PASSWORD not in repr(lines)


async def test_a_redis_that_is_away_tells_no_password(unused_port: int) -> None:
    client = open_redis(SecretStr(f"redis://okey:{PASSWORD}@127.0.0.1:{unused_port}/0"))
    with pytest.raises(redis.exceptions.ConnectionError) as asked:
        await client.ping()
    await client.aclose()
    assert PASSWORD not in "".join(traceback.format_exception(asked.value))


def test_settings_show_no_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OKEY_ENVIRONMENT", "test")
    monkeypatch.setenv("OKEY_DATABASE_URL", PASSWORD)
    assert PASSWORD not in repr(ServiceSettings.read())
    monkeypatch.setenv("OKEY_LISTEN_PORT", "none")
    with pytest.raises(SettingsRefused) as refused:
        ServiceSettings.read()
    assert PASSWORD not in "".join(traceback.format_exception(refused.value))

"""An engine that starts knows what was revoked before it serves."""

from pathlib import Path

import pytest

from okey_runtime.database import Database
from okey_runtime.revocation_feed import RevocationFeed
from okey_runtime.server import ServiceServer
from services.engine.revocations import RevocationList, TokenLife
from tests.fixtures.apps import app_of
from tests.fixtures.issuer import Issuer

HOUR_MS = 3_600_000


async def test_an_engine_has_read_the_list_once_it_serves(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not only once it follows the list, which begins later here than the test ends."""

    async def never(feed: RevocationFeed) -> None:
        return

    monkeypatch.setattr(RevocationFeed, "run", never)
    url = f"sqlite:///{tmp_path / 'engine.db'}"
    issuer = Issuer(tmp_path)
    async with ServiceServer(app_of("engine", issuer, tmp_path, url)) as engine:
        assert len(engine.revocations) == 0
        database = Database(url)
        life = TokenLife(HOUR_MS, 0)
        await RevocationList(database, engine.revocations, life, engine.clock).revoke_player("ayse")
        await database.close()
    async with ServiceServer(app_of("engine", issuer, tmp_path, url)) as again:
        assert len(again.revocations) == 1

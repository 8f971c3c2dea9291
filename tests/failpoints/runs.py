"""One run of a scenario on fresh databases, and what the same scenario comes to without a crash."""

import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from okey_runtime.migrations import migrate
from services.engine.app import MIGRATIONS as ENGINE_MIGRATIONS
from services.wallet.app import MIGRATIONS as WALLET_MIGRATIONS
from tests.failpoints.books import Booked, require_exactly_once
from tests.failpoints.crashing import crashing
from tests.failpoints.faults import FirstPasses
from tests.failpoints.scenarios import SCENARIOS, Scenario
from tests.failpoints.striking import Striker, Trigger
from tests.fixtures.postgres import PostgresServer

_MEMORY: Final = Path("/dev/shm")


@dataclass(frozen=True)
class Urls:
    """The two databases of a run."""

    engine: str
    wallet: str


@dataclass(frozen=True)
class Reference:
    """A scenario without a crash: the failpoints that it passes, and its journals."""

    passes: tuple[str, ...]
    journals: tuple[Booked, ...]


class Files:
    """SQLite databases, migrated once and copied for each run.

    In memory where the machine allows: it is we who crash, never the machine.
    """

    def __init__(self, home: Path) -> None:
        self._home = home

    async def make(self) -> None:
        """Migrate what is copied."""
        await migrate(f"sqlite:///{self._home / 'engine.db'}", ENGINE_MIGRATIONS)
        await migrate(f"sqlite:///{self._home / 'wallet.db'}", WALLET_MIGRATIONS)

    def fresh(self) -> Urls:
        """Databases that nobody has used; those of the run before are gone."""
        folder = self._home / "run"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        for name in ("engine.db", "wallet.db"):
            shutil.copy(self._home / name, folder / name)
        return Urls(f"sqlite:///{folder / 'engine.db'}", f"sqlite:///{folder / 'wallet.db'}")


@contextmanager
def files_home() -> Iterator[Path]:
    """A folder for ``Files``."""
    where = str(_MEMORY) if _MEMORY.is_dir() else None
    with tempfile.TemporaryDirectory(prefix="okey-failpoints-", dir=where) as home:
        yield Path(home)


async def fresh_on(server: PostgresServer) -> Urls:
    """Two new databases of a PostgreSQL server."""
    urls = Urls(server.create_database(), server.create_database())
    await migrate(urls.engine, ENGINE_MIGRATIONS)
    await migrate(urls.wallet, WALLET_MIGRATIONS)
    return urls


async def run(
    urls: Urls,
    scenario: Scenario,
    triggers: Sequence[Trigger] = (),
    expected: Sequence[Booked] = (),
    falls: Sequence[str] = (),
    plan: FirstPasses | None = None,
) -> Reference:
    """Play it with its crashes, all of which must happen, and with the errors of a plan; check what
    is left of it.
    """
    striker = Striker(triggers, falls)
    async with crashing(urls.engine, urls.wallet, striker, plan) as platform:
        await scenario(platform)
        await platform.until_told()
        if plan is not None:
            plan.is_on = False
        journals = await require_exactly_once(platform, expected)
    assert striker.is_spent, "a planned crash never happened"
    return Reference(tuple(striker.passes), tuple(journals))


References = dict[Scenario, Reference]


async def references(fresh: Callable[[], Urls]) -> References:
    """Every scenario without a crash."""
    return {scenario: await run(fresh(), scenario) for scenario in SCENARIOS}

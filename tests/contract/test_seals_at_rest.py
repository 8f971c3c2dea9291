"""On each database: a copy of it, its log included, shows nothing of a round that is not over, and
everything of one that is.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from okey.table.events import NonceAdded, RoundDealt, RoundEnded
from okey_runtime.database import Database
from okey_runtime.seal_keys import SealKeysFile, rotate_seal_keys
from services.engine.appending import Append
from services.engine.archive import Archive
from services.engine.journal import Journal
from services.engine.record import Row, encode_events
from services.engine.seals import Seals, TableSeal
from services.engine.snapshots import Snapshot, Snapshots
from tests.thief import Secrets, learned, values_in
from tests.walk import Step, table_named, walk

EVERYTHING = {"seed", "nonce", "tiles", "rack", "stock", "draw", "snapshot"}


def mid_round(kind: str, seed: int) -> list[Step]:
    """A table from its opening to a moment when its first round has run for a while."""
    steps: list[Step] = []
    dealt = 0
    for step in walk(table_named(kind, seed), seed, 400):
        steps.append(step)
        dealt = step.row.seq if any(isinstance(x, RoundDealt) for x in step.row.events) else dealt
        if any(isinstance(x, RoundEnded) for x in step.row.events):
            return []
        if dealt and step.row.seq > dealt + 30 and step.after.round is not None:
            return steps
    return []


def running(kind: str, first_seed: int = 73) -> list[Step]:
    """The first such table somebody added a nonce at."""
    found = (mid_round(kind, seed) for seed in range(first_seed, first_seed + 50))
    return next(steps for steps in found if steps and nonces_of(steps))


def nonces_of(steps: Sequence[Step]) -> tuple[bytes, ...]:
    return tuple(x.nonce for s in steps for x in s.row.events if isinstance(x, NonceAdded))


def stored(steps: Sequence[Step], seals: Seals) -> Iterator[Append]:
    """The rows as an engine appends them."""
    table_id = steps[0].after.config.table_id
    seal = TableSeal(seals, table_id)
    for step in steps:
        row = step.row
        plain = Row(row.seq, row.at_ms, row.events, row.request, encode_events(row.events))
        sealed = seal.sealed(step.before, plain)
        is_last = step.after.is_done
        yield Append(table_id, row.seq, row.at_ms, sealed, row.request, is_last=is_last)


def files_of(engine_url: str, request: pytest.FixtureRequest) -> list[bytes]:
    """The files of the database, its log among them."""
    if engine_url.startswith("sqlite"):
        path = Path(engine_url.removeprefix("sqlite:///"))
        return [each.read_bytes() for each in path.parent.glob(f"{path.name}*")]
    data = request.getfixturevalue("postgres_server").data
    logs = sorted((data / "pg_wal").glob("0*"))
    assert logs
    return [each.read_bytes() for each in logs]


def seals_in(tmp_path: Path, *, is_on: bool) -> Seals:
    if not is_on:
        return Seals()
    rotate_seal_keys(tmp_path / "seal-keys")
    seals = Seals(SealKeysFile(tmp_path / "seal-keys"))
    seals.follow([])
    return seals


@pytest.mark.parametrize("is_on", [True, False])
async def test_what_a_thief_of_the_database_learns(
    engine_database: Database,
    engine_url: str,
    request: pytest.FixtureRequest,
    tmp_path: Path,
    is_on: bool,
) -> None:
    seals = seals_in(tmp_path, is_on=is_on)
    journal, snapshots = Journal(engine_database, seals=seals), Snapshots(engine_database, seals)
    # Of another table each: the server's log holds both, in whatever order they come.
    steps = running("canak-4", 80 if is_on else 73)
    for append in stored(steps, seals):
        assert await journal.append([append]) == [None]
    last = steps[-1]
    at_ms = last.row.at_ms
    await snapshots.keep([Snapshot(last.row.seq, at_ms, at_ms, last.after, 0, 0, {})])
    values, files = await values_in(engine_database), files_of(engine_url, request)
    secrets = Secrets.of(last.after, nonces_of(steps))
    # Without encryption the thief finds everything, so it would find it here.
    assert learned(secrets, values, files) == (set() if is_on else EVERYTHING)
    table_id = last.after.config.table_id
    assert [row.events for row in await journal.rows(table_id)] == [s.row.events for s in steps]
    assert await snapshots.newest(table_id) is not None


async def test_a_table_that_is_over_reads_the_same_without_the_key_but_for_its_last_seed(
    engine_database: Database, tmp_path: Path
) -> None:
    """Also once it is archived."""
    seals = seals_in(tmp_path, is_on=True)
    journal = Journal(engine_database, seals=seals)
    config = table_named("klasik-2", 6)
    steps = list(walk(config, 6, 400))
    assert steps[-1].after.is_done
    for append in stored(steps, seals):
        assert await journal.append([append]) == [None]
    await journal.retire(config.table_id)
    keyless = Journal(engine_database)
    whole, shown = await journal.rows(config.table_id), await keyless.rows(config.table_id)
    assert [row.events for row in whole] == [step.row.events for step in steps]
    different = [one.seq for one, other in zip(whole, shown, strict=True) if one != other]
    ends = [row.seq for row in whole if any(isinstance(x, RoundEnded) for x in row.events)]
    assert different == ends[-1:]
    await Archive(engine_database).move(config.table_id, 0)
    assert await journal.rows(config.table_id) == whole
    assert await keyless.rows(config.table_id) == shown

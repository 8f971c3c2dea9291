"""Everything is restarted one by one behind a real Envoy, and no player's command is lost by it."""

from pathlib import Path
from typing import Final

import pytest

from tests.chaos.cluster.faults import DRAINED
from tests.chaos.cluster.rollout import MOST_TRIES, behind_envoy, failed, roll_out
from tests.chaos.tables.history import Asked
from tests.chaos.tables.test_tables import require_green
from tests.fixtures.postgres import PostgresServer
from tests.fixtures.valkey import Valkey

TABLES: Final = 20
FEW_TABLES: Final = 8


def test_a_command_that_three_tries_did_not_bring_through_is_seen() -> None:
    errors = ["unavailable"] * MOST_TRIES
    asked = [Asked("Act", "a", 0, errors=errors), Asked("Act", "b", 0, errors=errors[:-1])]

    assert failed(asked) == ["Act needed 4 tries: ['unavailable', 'unavailable', 'unavailable']"]


@pytest.mark.system
@pytest.mark.timeout(600)
async def test_a_quick_roll_out_of_everything_behind_envoy_fails_no_command(
    tmp_path: Path, postgres_server: PostgresServer, valkey: Valkey
) -> None:
    """The sample that `make deploy-check` takes: the same with few tables and hardly a pause."""
    async with behind_envoy(tmp_path, postgres_server, valkey) as stand:
        report, failures = await roll_out(stand, FEW_TABLES, seed=1, calm_s=0.2)

    assert failures == []
    assert report.faults.keys() == {f"{name} {DRAINED}" for name in stand.NAMES}
    require_green(report, "commands acknowledged", "take-overs")


@pytest.mark.long
@pytest.mark.system
@pytest.mark.timeout(900)
async def test_a_roll_out_of_everything_behind_envoy_fails_no_command(
    tmp_path: Path, postgres_server: PostgresServer, valkey: Valkey
) -> None:
    async with behind_envoy(tmp_path, postgres_server, valkey) as stand:
        report, failures = await roll_out(stand, TABLES, seed=1)

    assert failures == []
    require_green(report, "commands acknowledged", "take-overs", "streams resumed by cursor")

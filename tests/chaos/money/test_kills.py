"""kill -9 of engine, wallet and PostgreSQL while money moves: a sample of ``make soak``."""

import random
from pathlib import Path

import pytest

from tests.chaos.money.killing import kill_and_check, kill_at_random, kill_everybody
from tests.chaos.money.load import Load
from tests.chaos.money.stand import standing
from tests.fixtures.postgres import PostgresServer


@pytest.mark.system
@pytest.mark.timeout(120)
async def test_five_kills_lose_and_double_nothing(
    tmp_path: Path, postgres_server: PostgresServer
) -> None:
    """M3, M5: audit green, each match settled once, what was acknowledged is stored."""
    async with standing(tmp_path, postgres_server, random.Random(7), armed_share=0) as stand:
        load = Load(stand)
        await load.start()
        journals = await kill_and_check(stand, load, kill_everybody(stand, load))
        assert stand.told() == "engine 2, wallet 2, postgresql 1"
        assert journals > 0
        assert load.acknowledged


@pytest.mark.long
@pytest.mark.timeout(1_800)
async def test_a_hundred_kills_lose_and_double_nothing(
    tmp_path: Path, postgres_server: PostgresServer
) -> None:
    """M3, M5: the same, and every one of the three was killed."""
    async with standing(tmp_path, postgres_server, random.Random(11)) as stand:
        load = Load(stand)
        await load.start()
        await kill_and_check(stand, load, kill_at_random(stand, 100))
        assert stand.postgres_kills
        assert all(service.kills for service in stand.services.values())

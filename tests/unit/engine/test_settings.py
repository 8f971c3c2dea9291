"""The engine's settings: clocks can be sped up in tests, never in production."""

from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from okey.rules.rule_set import DEFAULT_RULE_SET
from okey.table.config import TableConfig, check_config
from okey_client import RetryPolicy
from okey_runtime.channel import PING_AFTER_MS, PING_WITHIN_MS
from okey_runtime.config import Environment
from services.engine.settings import EngineSettings

ADDRESSES: dict[str, Any] = {
    "wallet_address": "w:1",
    "rating_address": "r:1",
    "bots_address": "b:1",
}


def test_production_refuses_faster_clocks() -> None:
    production: dict[str, Any] = {
        "jwks_file": Path("jwks.json"),
        "token_issuer": "issuer",
        "seal_keys_file": Path("seal-keys"),
        **ADDRESSES,
    }
    EngineSettings(**production)
    with pytest.raises(ValidationError, match="CLOCK_FACTOR"):
        EngineSettings(clock_factor=2, **production)


def test_production_refuses_to_keep_seeds_in_the_clear() -> None:
    with pytest.raises(ValidationError, match="OKEY_SEAL_KEYS_FILE"):
        EngineSettings(jwks_file=Path("jwks.json"), token_issuer="issuer", **ADDRESSES)
    assert EngineSettings(environment=Environment.TEST, **ADDRESSES).seal_keys_file is None


def test_a_client_leaves_a_hanging_engine_before_a_turn_elsewhere_is_over() -> None:
    """Who waits for its turn sends nothing, so only pings tell that its engine hangs. Once the
    lease has ended another one has the table, and a turn there lasts for the grace at least.
    """
    settings = EngineSettings(environment=Environment.TEST, **ADDRESSES)
    over_ms = settings.lease_ms + settings.rules().takeover_grace_ms
    assert over_ms > PING_AFTER_MS + PING_WITHIN_MS
    assert over_ms > RetryPolicy().deadline_ms


def test_the_clock_factor_divides_every_time_and_nothing_else() -> None:
    settings = EngineSettings(environment=Environment.TEST, clock_factor=100, **ADDRESSES)
    rules = settings.rules()
    assert rules.default_turn_timeout_ms == 600
    assert rules.away_timeout_ms == 900
    assert rules.takeover_grace_ms == 50
    assert rules.max_stake == DEFAULT_RULE_SET.max_stake
    assert rules.version == DEFAULT_RULE_SET.version
    check_config(TableConfig("t" * 26, turn_timeout_ms=settings.hurried_ms(15_000), rules=rules))


def test_without_a_factor_the_rules_are_the_houses() -> None:
    settings = EngineSettings(environment=Environment.TEST, **ADDRESSES)
    assert settings.rules() is DEFAULT_RULE_SET
    assert settings.hurried_ms(60_000) == 60_000
    assert settings.hurried_ms(0) == 0

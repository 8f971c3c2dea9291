"""Settings of the engine beside those of every service."""

from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any, Self

from pydantic import Field, field_validator, model_validator

from okey.rules.rule_set import DEFAULT_RULE_SET, RULE_SET_2026_11, RULE_SETS, RuleSet
from okey_runtime.config import ServiceSettings, refuse_in_production
from okey_runtime.keys import KeyFileBroken
from okey_runtime.production import Unsafe
from okey_runtime.seal_keys import SealKeysFile, is_published, read_seal_keys
from services.engine.seals import Seals


class EngineSettings(ServiceSettings):
    """Where the engine finds whom it calls; ``OKEY_DATABASE_URL`` and a service token too."""

    wallet_address: str
    """host:port or dns:///name:port of the wallet."""
    rating_address: str
    """host:port or dns:///name:port of the rating service."""
    bots_address: str
    """host:port or dns:///name:port of the bot workers."""
    seal_keys_file: Path | None = None
    """The keys that seeds of running rounds are encrypted with in the database; production needs
    it, without it they stand there in the clear. `okeyctl keys rotate FILE` makes one.
    """
    engine_name: str = Field(default="engine", min_length=1, max_length=100)
    """This engine among the members; unique, and the same after a restart if it can be."""
    lease_ms: int = Field(default=6_000, ge=200, le=60_000)
    """For how long an engine that is not heard of keeps its tables; the same at all engines."""
    renew_ms: int = Field(default=2_000, ge=50, le=20_000)
    """How often it is heard of: a third of the lease, so that one that fails does no harm."""

    bot_pace_ms: int = Field(default=1_200, ge=0, le=10_000)
    """How long an AI seems to think before each action."""
    bot_timeout_ms: int = Field(default=2_000, ge=1, le=10_000)
    """How long the engine waits for a bot worker before it plays the neutral move (U10)."""
    snapshot_every_rows: int = Field(default=500, ge=0)
    """After how many rows of a table a snapshot is kept, so that it loads quickly; 0 for never."""
    archive_after_ms: int = Field(default=7 * 24 * 3_600_000, ge=0)
    """How long the rows of a closed table stay in the journal before they move to the archive; 0
    for ever."""
    hold_wait_ms: int = Field(default=3_000, ge=0, le=30_000)
    """How long TakeSeat, OpenTable and PlayOn wait for the wallet's verdict on the stake."""
    command_timeout_ms: int = Field(default=5_000, ge=100, le=30_000)
    """How long a player's command may take to be committed before it is answered that nobody knows.
    """
    stall_ms: int = Field(default=2_000, ge=500, le=60_000)
    """How long database or process may give no sign of life before every clock stands still."""
    shed_lag_ms: int = Field(default=500, ge=50, le=60_000)
    """How late the event loop may run before new tables, seats and spectators are refused."""
    shed_rows: int = Field(default=2_000, ge=1, le=20_000)
    """How many rows may wait for the database before they are."""
    most_streams: int = Field(default=20_000, ge=1)
    """How many streams may be open at once."""
    rules_version: str = DEFAULT_RULE_SET.version
    """The rule set of new tables. An older one serves while wallet or rating replicas that do not
    know the newest are still running; a table keeps the one that it was opened with.
    """
    single_session: bool = False
    """Whether a player who comes to a table with a newer session's token ends the older session."""

    replay_rows_per_s: int = Field(default=2_000, ge=1)
    """How many old rows all subscribers together may be sent in a second; new ones go at once."""

    events_off: str = Field(default="", pattern="^[A-Za-z,]*$")
    """Tests only: kinds of events, with commas, that this engine is to behave as if it did not know
    them, like a version from before them.
    """
    clock_factor: int = Field(default=1, ge=1, le=10_000)
    """Tests only: every clock of every table runs this many times faster."""

    _test_only = model_validator(mode="after")(refuse_in_production("clock_factor", "events_off"))

    def unsafe(self) -> Iterator[tuple[Unsafe, str]]:
        """As of every service, and seal keys that are published with our development clusters."""
        yield from super().unsafe()
        if self.seal_keys_file is None:
            return
        try:
            keys = read_seal_keys(self.seal_keys_file)
        except KeyFileBroken:
            return  # what reads it next says so
        if is_published(keys):
            yield (
                Unsafe.KNOWN_PASSWORDS,
                f"OKEY_SEAL_KEYS_FILE {self.seal_keys_file} has a key that everybody knows: make "
                "one with okeyctl keys rotate",
            )

    def refused(self) -> Iterator[str]:
        """As of every service, and running rounds that nothing encrypts."""
        yield from super().refused()
        if self.seal_keys_file is None:
            yield (
                "the engine has no key for running rounds: run okeyctl keys rotate and set "
                "OKEY_SEAL_KEYS_FILE to its file, or readers of the database learn tiles"
            )

    @field_validator("rules_version")
    @classmethod
    def _is_known(cls, version: str) -> str:
        if version not in RULE_SETS:
            known = ", ".join(RULE_SETS)
            raise ValueError(f"OKEY_RULES_VERSION is {version!r}: this engine knows {known}")
        return version

    @model_validator(mode="after")
    def _is_renewed_in_time(self) -> Self:
        if 2 * self.renew_ms > self.lease_ms:
            raise ValueError(
                f"OKEY_RENEW_MS is {self.renew_ms} and OKEY_LEASE_MS {self.lease_ms}: a lease must "
                "outlast a renewal that fails, so be at least twice as long"
            )
        return self

    def seals(self) -> Seals:
        """What is encrypted at rest. Raises ``KeyFileBroken`` for a file that cannot be used."""
        return Seals(SealKeysFile(self.seal_keys_file) if self.seal_keys_file else None)

    def called(self) -> dict[str, str]:
        """Whom the engine calls, and where."""
        return {
            "wallet": self.wallet_address,
            "rating": self.rating_address,
            "bots": self.bots_address,
        }

    def rules(self, *, can_all_read: bool = True) -> RuleSet:
        """The rule set of new tables, its times divided by the clock factor.

        ``can_all_read`` says that every living engine can read tables of this release.
        """
        chosen = RULE_SETS[self.rules_version] if can_all_read else RULE_SET_2026_11
        if self.clock_factor == 1:
            return chosen
        numbers: dict[str, Any] = {
            field.name: self.hurried_ms(value) if field.name.endswith("_ms") else value
            for field in fields(chosen)
            for value in [getattr(chosen, field.name)]
        }
        return RuleSet(**numbers)

    def hurried_ms(self, time_ms: int) -> int:
        """A time of play, divided by the clock factor."""
        return max(1, time_ms // self.clock_factor) if time_ms else 0

"""What the wallet can be asked to do, and the fingerprint by which a repeated request is known."""

import hashlib
import json
from dataclasses import dataclass, fields, is_dataclass
from enum import Enum

from okey.money.forfeit import ForfeitCause
from okey.money.outcome import Outcome
from okey.rules.variant import Mode, Variant


@dataclass(frozen=True, slots=True, kw_only=True)
class HoldStake:
    """M1: hold a player's stake for a match that has not started."""

    hold_id: str
    table_id: str
    match_id: str
    player_id: str
    stake: int
    rules_version: str


@dataclass(frozen=True, slots=True, kw_only=True)
class VoidHold:
    """M1: give a held stake back."""

    hold_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StartMatch:
    """M2: make the pot of all held stakes; ``holds`` by seat, None where the house pays."""

    table_id: str
    match_id: str
    variant: Variant
    mode: Mode
    stake: int
    rules_version: str
    holds: tuple[str | None, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class SettleMatch:
    """Pay the pot out."""

    match_id: str
    outcome: Outcome


@dataclass(frozen=True, slots=True, kw_only=True)
class VoidMatch:
    """M10: give every stake back."""

    match_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ForfeitSeat:
    """M9, U9: this seat became the house's."""

    match_id: str
    seat: int
    cause: ForfeitCause


@dataclass(frozen=True, slots=True, kw_only=True)
class CloseTable:
    """Ç10: the table is over."""

    table_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class GrantChips:
    """M3: new chips for a player, by the operator ``actor``."""

    player_id: str
    amount: int
    actor: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ReverseJournal:
    """Take a grant or a penalty back, by the operator ``actor``."""

    journal_id: int
    actor: str
    reason: str


Command = (
    HoldStake
    | VoidHold
    | StartMatch
    | SettleMatch
    | VoidMatch
    | ForfeitSeat
    | CloseTable
    | GrantChips
    | ReverseJournal
)


def fingerprint(command: Command) -> str:
    """SHA-256 of the command's content, as hex; equal commands have equal ones."""
    text = json.dumps(_canonical(command), sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def _canonical(value: object) -> object:
    if is_dataclass(value) and not isinstance(value, type):
        named = {field.name: _canonical(getattr(value, field.name)) for field in fields(value)}
        # The type counts: a draw and a house win have no fields that could tell them apart.
        return [type(value).__name__, named]
    if isinstance(value, Enum):
        return value.name
    if isinstance(value, tuple):
        return [_canonical(each) for each in value]
    return value

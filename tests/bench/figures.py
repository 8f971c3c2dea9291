"""Figures of a measurement: how they spread, and how each stands beside its limit."""

import math
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Spread:
    """How many values lie how high, in their own unit."""

    count: int
    p50: float
    p99: float
    most: float

    @classmethod
    def of(cls, values: Sequence[float]) -> "Spread":
        """Of these values, which must be some."""
        ordered = sorted(values)
        if not ordered:
            raise ValueError("nothing was measured")
        return cls(len(ordered), _rank(ordered, 0.5), _rank(ordered, 0.99), ordered[-1])

    def text(self, unit: str) -> str:
        """As people read it."""
        return f"{self.p50:,.1f} / {self.p99:,.1f} / {self.most:,.1f} {unit} ({self.count:,})"


def _rank(ordered: Sequence[float], share: float) -> float:
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)]


@dataclass(frozen=True, slots=True)
class Judged:
    """One figure beside its limit; the greater the better where ``is_floor``."""

    name: str
    figure: float
    limit: float
    unit: str
    aim: float | None = None
    is_floor: bool = False

    @property
    def holds(self) -> bool:
        """Whether it keeps the limit."""
        return self.figure >= self.limit if self.is_floor else self.figure <= self.limit

    def row(self) -> tuple[str, str, str, str, str]:
        """Name, figure, limit, aim, verdict."""
        sign = "≥" if self.is_floor else "≤"
        aim = "" if self.aim is None else f"{self.aim:g} {self.unit}"
        return (
            self.name,
            f"{self.figure:,.2f} {self.unit}",
            f"{sign} {self.limit:g} {self.unit}",
            aim,
            "holds" if self.holds else "MISSED",
        )

"""How a match ended, as the wallet is told it: who and how, never an amount (M4)."""

from dataclasses import dataclass

from okey.rules.finish import FinishKind


@dataclass(frozen=True, slots=True)
class CanakWin:
    """Ç3..Ç5: ``seat`` finished; the kind decides about kasa and bonus."""

    seat: int
    finish: FinishKind


@dataclass(frozen=True, slots=True)
class CanakDraw:
    """Ç7: the stock ran out, or U14."""


@dataclass(frozen=True, slots=True)
class KlasikWin:
    """K5, K6: ``seat`` has the highest points, or won the tie-break."""

    seat: int


@dataclass(frozen=True, slots=True)
class KlasikDraw:
    """K10: too many drawn rounds in a row; ``contending`` are the seats that could still win."""

    contending: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class HouseWin:
    """M8: no person is left who could win."""


Outcome = CanakWin | CanakDraw | KlasikWin | KlasikDraw | HouseWin

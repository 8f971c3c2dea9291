"""What a player does when: scripted by a seed, so that a check can know who was awake."""

import random
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Pace:
    """How people play in a run."""

    factor: float = 1.0
    """Multiplies every time that a person takes."""
    naps: tuple[float, ...] = (0.0, 0.0, 0.0, 0.05, 0.4)
    """How often a player sleeps through a turn, each player by one of these chances."""


class Script:
    """One player's habits and choices."""

    def __init__(self, chance: random.Random, pace: Pace) -> None:
        self.chance = chance
        self._pace = pace
        self._nap = chance.choice(pace.naps)
        self._stays_away: set[int] = set()

    def think_s(self) -> float:
        """Before the first move of a turn; far less than the shortest turn."""
        return self._pace.factor * min(5.0, self.chance.expovariate(1 / 2.0))

    def oversleeps(self) -> bool:
        """Whether the turn is slept through."""
        return self.chance.random() < self._nap

    def comes_back(self, turn: int) -> bool:
        """Whether the player comes back from its stand-in, at this turn of anybody."""
        if turn not in self._stays_away and self.chance.random() < 0.3:
            return True
        self._stays_away.add(turn)
        return False

    def return_s(self) -> float:
        """Before coming back."""
        return self._pace.factor * self.chance.uniform(0.0, 2.0)

    def decide_s(self) -> float:
        """Before an answer in the Nachspiel."""
        return self._pace.factor * self.chance.uniform(0.0, 4.0)

    def plays_on(self) -> bool:
        """Whether the player stays for the Nachspiel."""
        return self.chance.random() < 0.7

    def patience_s(self) -> float:
        """How long the player waits alone for others."""
        return self._pace.factor * self.chance.uniform(1.0, 4.0)

    def gives_up(self) -> bool:
        """Whether the player gives the match up in this turn."""
        return self.chance.random() < 0.003

    def takes(self, neighbours: int) -> bool:
        """Whether the player takes the neighbour's discard, by how well it fits."""
        return neighbours > 3 and self.chance.random() < 0.5

    def bluffs(self) -> bool:
        """Whether the player tries a false finish (H8)."""
        return self.chance.random() < 0.01

    def repeats(self) -> bool:
        """Whether the player sends an answered command once more."""
        return self.chance.random() < 0.03

    def adds_nonce(self) -> bool:
        """Whether the player adds to the shuffle now (T9)."""
        return self.chance.random() < 0.8

    def nonce(self) -> bytes:
        """32 bytes."""
        return self.chance.randbytes(32)

"""`make bench`, the ratings: what the rating finds out about a thousand people.

100,000 matches between people of known strength, drawn to ``build/rating.png``.
"""

from pathlib import Path
from typing import Final

import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from rich.console import Console

from tests.unit.rating.population import Person, Population, rank_correlation

PEOPLE, MATCHES = 1_000, 100_000
PICTURE: Final = Path(__file__).parents[2] / "build" / "rating.png"


def draw(population: Population, quitters: list[Person], correlation: float) -> None:
    """Everybody's strength and rating as a picture: those who play to the end, then all."""
    PICTURE.parent.mkdir(exist_ok=True)
    gone = {id(person) for person in quitters}
    stayed = [person for person in population.people if id(person) not in gone]
    figure, (left, right) = plt.subplots(1, 2, figsize=(13, 6.5))
    for axes in (left, right):
        _scatter(axes, stayed, "play to the end")
        axes.axline((1200, 1200), slope=1, color="grey", linewidth=1)
        axes.set_xlabel("strength, in points")
        axes.set_ylabel("rating, in points")
    _scatter(right, quitters, "give up when they are about to lose")
    right.legend()
    left.set_title(f"{len(stayed):,} who play to the end: rank correlation {correlation:.4f}")
    right.set_title(
        f"all {PEOPLE:,} after {MATCHES:,} matches: {population.forfeits:,} forfeits, "
        f"{population.sink_milli / 1000:,.0f} points in the sink"
    )
    figure.tight_layout()
    figure.savefig(PICTURE, dpi=110)


def _scatter(axes: Axes, people: list[Person], label: str) -> None:
    strengths = [person.strength for person in people]
    axes.scatter(strengths, [each.points for each in people], s=6, alpha=0.6, label=label)


def simulate(console: Console) -> None:
    """Known strengths, rated; every twentieth person leaves lost matches."""
    population = Population.of(PEOPLE, seed=1)
    quitters = population.people[::20]
    population.play_at_random(MATCHES, quitters)
    stayed = [each for number, each in enumerate(population.people) if number % 20]
    correlation = rank_correlation(
        [person.strength for person in stayed], [person.points for person in stayed]
    )
    draw(population, quitters, correlation)
    drift = population.total_milli() - PEOPLE * 1_200_000
    console.print(
        f"{PEOPLE:,} people, {MATCHES:,} matches, {population.forfeits:,} forfeits: rank "
        f"correlation {correlation:.4f} among who stayed, ratings and sink off by {drift} "
        f"milli-points; drawn to {PICTURE.relative_to(PICTURE.parents[1])}"
    )


if __name__ == "__main__":
    simulate(Console())

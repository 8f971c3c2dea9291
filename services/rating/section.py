"""Which part of a board a player stands in."""

from enum import IntEnum

from okey.rating import Standing
from okey.rules.rule_set import RuleSet


class Section(IntEnum):
    """UNRANKED has no rated match in the season and stands nowhere."""

    UNRANKED = 0
    ESTABLISHED = 1
    PROVISIONAL = 2


def section_of(standing: Standing, rules: RuleSet) -> Section:
    """Where a player with this standing is listed once it has a rated match in the season."""
    if standing.rated_matches == 0:
        return Section.UNRANKED
    return Section.PROVISIONAL if standing.is_provisional(rules) else Section.ESTABLISHED

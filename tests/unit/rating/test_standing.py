"""What a player has on a ladder before and after a match."""

from okey.rating import Standing, starting_standing
from okey.rules.rule_set import DEFAULT_RULE_SET, RuleSet


def test_everyone_starts_at_twelve_hundred() -> None:
    """R1: with no rated match."""
    assert starting_standing(DEFAULT_RULE_SET) == Standing(1_200_000, 0)


def test_a_forfeit_counts_as_a_rated_match() -> None:
    """R1: every change moves the count by one."""
    assert Standing(1_200_000, 19).after(-20_000) == Standing(1_180_000, 20)


def test_k_falls_after_the_first_twenty_matches() -> None:
    """R1: provisional up to the twentieth."""
    before, after = Standing(0, 19), Standing(0, 20)
    assert (before.is_provisional(DEFAULT_RULE_SET), before.k(DEFAULT_RULE_SET)) == (True, 20)
    assert (after.is_provisional(DEFAULT_RULE_SET), after.k(DEFAULT_RULE_SET)) == (False, 16)


def test_no_k_of_the_house_rules_costs_more_than_a_forfeit() -> None:
    """R1: K is at most the price of giving up."""
    rules = RuleSet()
    assert max(rules.rating_k_new, rules.rating_k_settled) * 1000 <= rules.forfeit_milli_points

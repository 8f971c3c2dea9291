"""The rule sets by which matches may have been played."""

from collections.abc import Iterable
from typing import Final

from okey.rules.rule_set import RuleSet
from services.rating.record import RatingRulesUnknown


class RuleBook:
    """Rule sets by version; ``current`` is the one of new tables, and of reports that name none."""

    def __init__(self, current: RuleSet, others: Iterable[RuleSet] = ()) -> None:
        self.current: Final = current
        self._by_version = {rules.version: rules for rules in (*others, current)}

    def of(self, version: str) -> RuleSet:
        """The rule set of that version, the current one for "". Raises ``RatingRulesUnknown``."""
        if not version:
            return self.current
        rules = self._by_version.get(version)
        if rules is None:
            raise RatingRulesUnknown(
                f"rules_version {version!r}: this rating service knows "
                f"{', '.join(sorted(self._by_version))}; start one that knows it, the report is "
                "sent again until then"
            )
        return rules

    def knows(self, version: str) -> bool:
        """Whether ``of`` has an answer."""
        return version in self._by_version

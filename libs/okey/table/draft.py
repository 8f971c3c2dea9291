"""A command being decided: the events so far and the state that they lead to."""

from okey.rules.rule_set import RuleSet
from okey.table.commands import Context
from okey.table.events import Event
from okey.table.evolve import evolve, match_of, round_of, turn_of
from okey.table.state import Match, Round, TableState, Turn


class Draft:
    """Collects events; each is folded at once, so that the next decision sees its effect."""

    def __init__(self, state: TableState, context: Context) -> None:
        self.state = state
        self.context = context
        self.events: list[Event] = []

    def emit(self, event: Event) -> None:
        """Add an event and fold it."""
        self.events.append(event)
        self.state = evolve(self.state, event)

    @property
    def now_ms(self) -> int:
        """When the command arrived."""
        return self.context.now_ms

    @property
    def rules(self) -> RuleSet:
        """The rule set that the table was opened with."""
        return self.state.config.rules

    @property
    def match(self) -> Match:
        """The running match."""
        return match_of(self.state)

    @property
    def round(self) -> Round:
        """The running round."""
        return round_of(self.state)

    @property
    def turn(self) -> Turn:
        """The running turn."""
        return turn_of(self.state)

"""The list of commands in the help, by what they are for, as docs/okeyctl.md has them."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from typer.core import TyperGroup

SECTIONS: Final[Mapping[str, Sequence[str]]] = {
    "Tables": ("tables", "replay", "verify", "shards", "tickets"),
    "Players, chips, ratings": ("player", "wallet", "statement", "audit", "rating"),
    "The installation": ("doctor", "config", "keys", "token", "demo"),
    "Without a platform": ("hands", "simulate", "arena"),
}


class Sections(TyperGroup):
    """A group whose help shows its commands in sections."""

    # Typer gives no public names to the types of what its help is written with.
    def list_commands(self, ctx: Any) -> list[str]:
        """The names in the order in which the sections have them."""
        return [name for names in SECTIONS.values() for name in names]

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """A list for each section."""
        longest = max(map(len, self.commands))
        for title, names in SECTIONS.items():
            rows = [(name.ljust(longest), self._short_help(name, formatter)) for name in names]
            with formatter.section(title):
                formatter.write_dl(rows)

    def _short_help(self, name: str, formatter: Any) -> str:
        room: int = formatter.width - 6 - max(map(len, self.commands))
        return self.commands[name].get_short_help_str(room)

"""Who has asked to leave before the deal is told so again, and no further row says it."""

from collections.abc import Iterable

from okey.table import events as e


class Leaving:
    """The first row, by table and player, in which each who leaves has asked to."""

    def __init__(self) -> None:
        self._since: dict[tuple[str, str], int] = {}

    def see(self, table_id: str, seq: int, player: str, events: Iterable[e.Event]) -> None:
        """A row that somebody asked for; each table's rows come in order."""
        if any(isinstance(event, e.LeaveRequested) for event in events):
            self._since.setdefault((table_id, player), seq)

    def is_told_again(self, table_id: str, player: str, seq: int) -> bool:
        """Whether a request to leave that was answered with this row needs none of its own."""
        since = self._since.get((table_id, player))
        return since is not None and since <= seq

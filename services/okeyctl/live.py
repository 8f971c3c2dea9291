"""Text that is shown again and again: in place on a terminal, one below the other elsewhere."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.live import Live
from rich.text import Text


@contextmanager
def in_place(out: Console) -> Iterator[Callable[[list[str]], None]]:
    """Gives what shows the newest lines; the last ones stay when it ends."""
    if not out.is_terminal:
        yield lambda lines: print("\n".join(lines), flush=True)
        return
    with Live(console=out, auto_refresh=False) as live:
        yield lambda lines: live.update(Text("\n".join(lines)), refresh=True)

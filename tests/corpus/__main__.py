"""Write a generation of old journals: ``python -m tests.corpus 2027-01-15``."""

import sys
from typing import Final

from services.engine.record import encode_events
from tests.corpus import FOLDER, OldRow, digest_of, everything, shapes_in, shown_in, write
from tests.walk import KINDS, Step, table_named, walk

_MOST_ROWS: Final = 260
_SEEDS: Final = range(1, 60)


def chosen() -> dict[str, list[Step]]:
    """For each kind the tables that show an event or a field which no earlier one does, one at
    least.
    """
    missing = everything()
    found: dict[str, list[Step]] = {}
    for kind in KINDS:
        for seed in _SEEDS:
            steps = list(walk(table_named(kind, seed), seed, _MOST_ROWS))
            shown = shown_in(event for step in steps for event in step.row.events)
            is_first = not any(name.startswith(kind) for name in found)
            if steps[-1].after.is_done and len(steps) > 50 and (missing & shown or is_first):
                found[f"{kind}-{seed}"] = steps
                missing -= shown
    if missing:
        raise SystemExit(f"no table shows {', '.join(sorted(missing))}: walk on (tests/walk.py)")
    return found


def main(name: str) -> None:
    """Choose, and write."""
    tables = chosen()
    shape: dict[str, list[str]] = {}
    for steps in tables.values():
        for step in steps:
            shape |= shapes_in(step.after)
    write(
        FOLDER / name,
        shape,
        {
            table: [
                OldRow(
                    step.row.seq,
                    step.row.at_ms,
                    encode_events(step.row.events),
                    digest_of(step.after, shape),
                )
                for step in steps
            ]
            for table, steps in tables.items()
        },
    )


main(sys.argv[1])

"""``make attack``: attack a running cluster, and say what it costs."""

import argparse
import asyncio
import signal
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from rich.console import Console

from tests.attack import report
from tests.attack.catalogue import CATALOGUE, CONTROL
from tests.attack.inflict import SETTLE_S, Inflicted, Window, inflict, quiet
from tests.attack.judge import MOST_RUNS, Quiet, Verdict, is_decided, judge
from tests.attack.network import NetworkMissing, enter_own_network
from tests.attack.players import PAUSE_S, Pace, Played, playing
from tests.attack.stand import Stand, standing

UNUSABLE: Final = 2
_WARM_UP_S: Final = 20.0
_FIRST_QUIET: Final = 2
_BEFORE: Final = 3
"""With how many quiet windows an attack is compared; the last one is directly before it."""
_REPEATS_SHARE: Final = 0.7
"""Of the whole time; after it no attack is repeated, so that all have their turn."""
_END_S: Final = 20.0
"""What ending the cluster may take."""


def say(text: str) -> None:
    """One line, now."""
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


class Campaign:
    """All attacks on one stand, one after another."""

    def __init__(
        self, stand: Stand, played: Played, tables: list[str], seconds: float, until_s: float
    ) -> None:
        self._until_s = until_s
        self._stand = stand
        self._played = played
        self._tables = tables
        self._seconds = seconds
        self._quiet: list[Window] = []
        self._runs: dict[str, list[Inflicted]] = {}

    async def run(self, names: Sequence[str], started_s: float) -> None:
        """Attack; what does not fit into the time is left out and said."""
        for _ in range(_FIRST_QUIET):
            await self._rest()
        for number, name in enumerate(names, start=1):
            elapsed_s = time.monotonic() - started_s
            if time.monotonic() > self._until_s:
                say(f"left out, since the time is over: {', '.join(names[number - 1 :])}")
                return
            runs = self._runs[name] = [await self._once(name)]
            # The yardstick of all others always runs so often.
            while len(runs) < MOST_RUNS and (name == CONTROL or not is_decided(runs)):
                if time.monotonic() > started_s + _REPEATS_SHARE * (self._until_s - started_s):
                    break
                runs.append(await self._once(name))
            told = judge(name, runs, Quiet.of(self._quiet))
            say(f"{elapsed_s:4.0f} s {number:3d}/{len(names)} {name:<22} {_told(told)}")

    def verdicts(self) -> tuple[list[Verdict], Quiet]:
        """What is to be said of each, beside all quiet windows."""
        baseline = Quiet.of(self._quiet)
        return [judge(name, runs, baseline) for name, runs in self._runs.items()], baseline

    async def _once(self, name: str) -> Inflicted:
        await self._rest()
        aim = self._stand.aim(self._seconds, self._tables)
        before = tuple(self._quiet[-_BEFORE:])
        usual = Quiet.of(before).cores
        return await inflict(name, aim, self._stand.watched, self._played, before, usual)

    async def _rest(self) -> None:
        window = await quiet(self._stand.watched(), self._played, self._seconds + SETTLE_S)
        self._quiet.append(window)


def _told(verdict: Verdict) -> str:
    ratio = verdict.p99_ms / verdict.quiet_p99_ms
    figures = (
        f"{verdict.growth_bytes / 2**20:5.0f} MiB {verdict.growth_of:<9} "
        f"{verdict.cpu_s:4.1f} s {verdict.cpu_of:<9} p99 {ratio:4.1f} x  "
    )
    if verdict.holds:
        return f"{figures}holds"
    first = f" ({verdict.failures[0]})" if verdict.failures else ""
    lines = f" ({verdict.lines} lines, {verdict.lines_of})" if verdict.lines else ""
    return f"{figures}BROKEN: {', '.join(verdict.broken)}{first}{lines}"


async def campaign(names: Sequence[str], seconds: float, minutes: float, folder: Path) -> int:
    """The whole run, in as many minutes; its exit status."""
    # Ends as Ctrl-C does: in order, with nothing left behind.
    current = asyncio.current_task()
    assert current is not None
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, current.cancel)
    started_s = time.monotonic()
    played, pace = Played(), Pace(0.0)
    with tempfile.TemporaryDirectory(prefix="okey-attack-") as home:
        say("starting a cluster and Envoy ...")
        async with standing(Path(home)) as stand, playing(stand, played, pace) as tables:
            say(f"ready after {time.monotonic() - started_s:.0f} s; warming up ...")
            await asyncio.sleep(_WARM_UP_S)
            say(f"{len(played.commands)} commands played")
            pace.pause_s = PAUSE_S
            running = Campaign(stand, played, tables, seconds, started_s + 60 * minutes - _END_S)
            await running.run(names, started_s)
            verdicts, baseline = running.verdicts()
    report.write(folder, verdicts, baseline)
    Console(width=max(Console().width, 180)).print(report.sheet_of(verdicts, baseline).table())
    broken = [each.name for each in verdicts if not each.holds]
    is_whole = len(verdicts) == len(names)
    took_s = time.monotonic() - started_s
    say(f"{len(verdicts)} attacks, {len(broken)} broke a limit; {took_s:.0f} s")
    return 1 if broken or not is_whole else 0


def chosen(only: Sequence[str]) -> list[str]:
    """Each attack of that name, or those whose names begin so; all of them where none is named."""
    prefixes = tuple(each for each in only if each not in CATALOGUE)
    if not only:
        return list(CATALOGUE)
    return [name for name in CATALOGUE if name in only or (prefixes and name.startswith(prefixes))]


def main() -> None:
    """Take the options, enter the network, attack."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--only", action="append", default=[], help="this attack, or those that begin so"
    )
    parser.add_argument("--seconds", type=float, default=4.0, help="how long each lasts")
    parser.add_argument("--minutes", type=float, default=15.0, help="how long all may take")
    parser.add_argument("--folder", type=Path, default=Path("build/attack"), help="of the report")
    parser.add_argument("--list", action="store_true", help="name the attacks, and end")
    options = parser.parse_args()
    if options.list:
        for name, kind in CATALOGUE.items():
            say(f"{name:<22} {kind.victim:<8} {kind.what}")
        return
    names = chosen(options.only)
    if not names:
        parser.error(f"no attack begins with {' or '.join(options.only)}; --list names them")
    try:
        enter_own_network("tests.attack")
    except NetworkMissing as error:
        say(str(error))
        sys.exit(UNUSABLE)
    sys.exit(asyncio.run(campaign(names, options.seconds, options.minutes, options.folder)))


if __name__ == "__main__":
    main()

"""What processes cost: memory, CPU and log lines, as their host sees them."""

import json
import os
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

_TICKS_PER_S: Final = os.sysconf("SC_CLK_TCK")
_RESET_PEAK: Final = "5"
_KIB: Final = 1_024
_VARIES: Final = re.compile(r"0x[0-9a-f]+|\d+|'[^']*'|\"[^\"]*\"|[0-9a-f-]{16,}")
_SHOWN_CHARS: Final = 90


@dataclass(frozen=True, slots=True)
class Watched:
    """A process, by pid, and the file that its log goes to. One with ``children`` is measured with
    them, and without the memory that they share (PostgreSQL).
    """

    pid: int
    log: Path
    has_children: bool = False


@dataclass(frozen=True, slots=True)
class Cost:
    """What one process used in a window: seconds of CPU, bytes of memory above those at the start,
    and log lines by kind.
    """

    cpu_s: float
    growth_bytes: int
    lines: Mapping[str, int] = field(default_factory=dict)
    has_died: bool = False


class Gauge:
    """Reads one process from ``begin`` to ``end``."""

    def __init__(self, watched: Watched) -> None:
        self._watched = watched
        self._cpu_s = 0.0
        self._bytes = 0
        self._most = 0
        self._offset = 0
        self._has_died = False

    def begin(self) -> None:
        """Note where it stands, and let its peak of memory start from here."""
        self._offset = _size(self._watched.log)
        try:
            self._cpu_s = self._cpu()
            self._bytes = self._most = self._memory()
            if not self._watched.has_children:
                Path(f"/proc/{self._watched.pid}/clear_refs").write_text(_RESET_PEAK)
        except OSError:
            self._has_died = True

    def look(self) -> None:
        """Note the memory in between, for what has no peak of its own to read."""
        try:
            self._most = max(self._most, self._memory())
        except OSError:
            self._has_died = True

    def end(self) -> Cost:
        """What it cost since ``begin``."""
        lines = _kinds(self._watched.log, self._offset)
        try:
            cpu_s, most = self._cpu() - self._cpu_s, max(self._most, self._peak())
        except OSError:
            return Cost(0.0, self._most - self._bytes, lines, has_died=True)
        return Cost(cpu_s, most - self._bytes, lines, self._has_died)

    def _cpu(self) -> float:
        return cpu_s(self._watched)

    def _memory(self) -> int:
        if not self._watched.has_children:
            return _status(self._watched.pid, "VmRSS")
        return sum(_anonymous(pid) for pid in _family(self._watched))

    def _peak(self) -> int:
        if self._watched.has_children:
            return self._memory()
        return _status(self._watched.pid, "VmHWM")


def cpu_s(watched: Watched) -> float:
    """Seconds of CPU that a process has used, with its children where they count.

    Raises:
        OSError: it has ended.
    """
    used = 0
    for pid in _family(watched):
        try:
            times = [int(field) for field in _stat(pid)[11:15]]
        except OSError:
            if pid == watched.pid:
                raise
            continue
        # Children that have ended are in their parent's account.
        used += sum(times if watched.has_children else times[:2])
    return used / _TICKS_PER_S


def _family(watched: Watched) -> list[int]:
    if not watched.has_children:
        return [watched.pid]
    children = Path(f"/proc/{watched.pid}/task/{watched.pid}/children").read_text().split()
    return [watched.pid, *map(int, children)]


def _stat(pid: int) -> list[str]:
    """The fields of ``/proc/PID/stat`` behind the name, which may hold anything."""
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()


def busy_s() -> float:
    """Seconds of CPU that the whole machine has used."""
    numbers = Path("/proc/stat").read_text().splitlines()[0].split()[1:]
    user, nice, system, _, _, irq, softirq = map(int, numbers[:7])
    return (user + nice + system + irq + softirq) / _TICKS_PER_S


def _status(pid: int, name: str) -> int:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith(f"{name}:"):
            return int(line.split()[1]) * _KIB
    raise ProcessLookupError(f"process {pid} has ended and has no {name}")


def _anonymous(pid: int) -> int:
    try:
        return _status(pid, "RssAnon")
    except OSError:
        return 0


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


def _kinds(path: Path, offset: int) -> Mapping[str, int]:
    """How many lines of each kind were added to a log since then."""
    if not path.exists():
        return {}
    with path.open("rb") as log:
        log.seek(offset)
        added = log.read().decode(errors="replace")
    return Counter(kind_of(line) for line in added.splitlines() if line.strip())


def kind_of(line: str) -> str:
    """What a line of a log is of: its event where it is one of ours, else its text without what
    varies.
    """
    try:
        said = json.loads(line)
    except ValueError:
        said = None
    if isinstance(said, dict) and "event" in said:
        text = f"{said.get('logger', '')} {said['event']}".strip()
    else:
        text = line.strip()
    return _VARIES.sub("*", text)[:_SHOWN_CHARS]

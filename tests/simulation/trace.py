"""What happened in a run, as a digest: two runs of one seed are the same if their digests are."""

from collections.abc import Callable
from hashlib import blake2b
from struct import pack

Tell = Callable[[str], None]


class Trace:
    """Takes every step and every event of a run; ``tell`` hears the events as text."""

    def __init__(self, tell: Tell | None = None) -> None:
        self._digest = blake2b(digest_size=16)
        self._tell = tell
        self._now_s = 0.0
        self._buffer: list[bytes] = []

    def step(self, process: str, now_s: float) -> None:
        """One callback of a process."""
        self._now_s = now_s
        self._buffer.append(process.encode() + pack("<d", now_s))
        if len(self._buffer) >= 1_000:
            self._flush()

    def event(self, what: str, content: bytes = b"") -> None:
        """Something that happened between processes."""
        self._buffer.append(what.encode() + content)
        if self._tell is not None:
            self._tell(f"{self._now_s:10.3f} {what}")

    def digest(self) -> str:
        """Of everything so far."""
        self._flush()
        return self._digest.hexdigest()

    def _flush(self) -> None:
        self._digest.update(b"\0".join(self._buffer))
        self._buffer.clear()

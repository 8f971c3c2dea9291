"""Small files that change under a running service: noticing a change, and writing so that nobody
reads half of one.
"""

import os
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class FileStamp:
    """What tells one version of a file from the next; a missing file has a stamp of its own."""

    modified_ns: int
    size: int
    inode: int

    @classmethod
    def of(cls, path: Path) -> "FileStamp":
        """The stamp of the file as it is now."""
        try:
            status = path.stat()
        except OSError:
            return cls(0, -1, 0)
        return cls(status.st_mtime_ns, status.st_size, status.st_ino)


def write_atomically(path: Path, text: str) -> None:
    """Replace the file's content in one step: readers see the old text or the new one, never a
    part.
    """
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    draft.write_text(text)
    draft.replace(path)

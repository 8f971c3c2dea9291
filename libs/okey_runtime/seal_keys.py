"""The file of keys that seeds of running rounds are encrypted with at rest: newest first, re-read
when it changes.

One key a line: its id, the day it was made, and 32 random bytes in base64. ``okeyctl keys`` makes,
rotates and shows such files.
"""

import os
import secrets
from base64 import b64decode, b64encode
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import Final

from okey_runtime.files import FileStamp
from okey_runtime.keys import KeyFileBroken
from okey_runtime.logging import get_logger

KEY_BYTES: Final = 32

_NUMBERS_FROM: Final = 1 << 32
_log = get_logger(__name__)


@dataclass(frozen=True, slots=True)
class SealKey:
    """A key; ``made`` is the day (``2027-01-31``), ``key_id`` follows from the secret."""

    made: str
    secret: bytes

    @property
    def key_id(self) -> str:
        """Eight hexadecimal digits that tell nothing of the secret."""
        return sha256(b"okey-seal-key-id\0" + self.secret).hexdigest()[:8]


def is_published(keys: Iterable[SealKey]) -> bool:
    """Whether one of the keys is written for development, as deploy/overlays/dev publishes it."""
    return any(key.secret.startswith(b"dev-only") for key in keys)


def key_number(key_id: str) -> int:
    """The id as a number that no kind of event has: so that engines tell each other of keys."""
    return _NUMBERS_FROM + int(key_id, 16)


class SealKeysFile:
    """The keys of a file; a changed file is taken over, a broken change is not.

    Raises:
        KeyFileBroken: the file cannot be used when the service starts.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._stamp = FileStamp.of(path)
        self.keys = read_seal_keys(path)
        """Newest first; one at least."""

    def reload_if_changed(self) -> None:
        """Take the file over if it has changed; a file that cannot be used leaves the keys as they
        are and is logged.
        """
        stamp = FileStamp.of(self._path)
        if stamp == self._stamp:
            return
        self._stamp = stamp
        try:
            self.keys = read_seal_keys(self._path)
        except KeyFileBroken as error:
            _log.error("seal_keys_change_refused", path=str(self._path), error=str(error))
            return
        ids = [key.key_id for key in self.keys]
        _log.info("seal_keys_reloaded", path=str(self._path), key_ids=ids)

    def find(self, key_id: str) -> SealKey | None:
        """The key of that id; a file that has got it meanwhile is read again."""
        found = self._find(key_id)
        if found is None:
            self.reload_if_changed()
            found = self._find(key_id)
        return found

    def _find(self, key_id: str) -> SealKey | None:
        return next((key for key in self.keys if key.key_id == key_id), None)


def read_seal_keys(path: Path) -> tuple[SealKey, ...]:
    """The keys of a file, newest first.

    Raises:
        KeyFileBroken: it is missing, holds no key or something else, or others may read it.
    """
    try:
        status = path.stat()
        text = path.read_text("ascii")
    except (OSError, ValueError) as error:
        raise KeyFileBroken(
            f"{path} cannot be read as a file of seal keys ({error}): make one with "
            "`okeyctl keys rotate FILE`"
        ) from error
    # A file that is mounted from a secret is not ours, and has the mode that the mount gives it.
    if status.st_mode & (0o077 if status.st_uid == os.geteuid() else 0o022):
        raise KeyFileBroken(
            f"{path} has mode {status.st_mode & 0o777:04o}, so others may read or change it: "
            "chmod 600 it"
        )
    lines = enumerate(text.splitlines(), 1)
    keys = tuple(
        _key(path, number, line) for number, line in lines if line and not line.startswith("#")
    )
    if not keys:
        raise KeyFileBroken(f"{path} holds no key: make one with `okeyctl keys rotate FILE`")
    if len({key.key_id for key in keys}) < len(keys):
        raise KeyFileBroken(f"{path} holds a key twice: remove the older line")
    return keys


def write_seal_keys(path: Path, keys: tuple[SealKey, ...]) -> None:
    """Replace the file in one step, readable by its owner only."""
    lines = [f"{key.key_id} {key.made} {b64encode(key.secret).decode()}" for key in keys]
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w") as file:
        file.write("\n".join(lines) + "\n")
        file.flush()
        os.fsync(file.fileno())
    draft.replace(path)


def rotate_seal_keys(path: Path) -> SealKey:
    """Add a fresh key as the newest; makes the file where there is none.

    Raises ``KeyFileBroken`` for a file that cannot be read: it is left as it is.
    """
    known = read_seal_keys(path) if path.exists() else ()
    fresh = SealKey(datetime.now(UTC).date().isoformat(), secrets.token_bytes(KEY_BYTES))
    write_seal_keys(path, (fresh, *known))
    return fresh


def _key(path: Path, number: int, line: str) -> SealKey:
    words = line.split()
    try:
        key_id, made, secret = words
        key = SealKey(made, b64decode(secret, validate=True))
    except ValueError as error:
        raise KeyFileBroken(
            f"{path}, line {number}: a key is its id, a day and 32 bytes in base64"
        ) from error
    # The secret itself is never told.
    if len(key.secret) != KEY_BYTES or key.key_id != key_id:
        raise KeyFileBroken(
            f"{path}, line {number}: the secret is not that of key {key_id}; was the line cut?"
        )
    return key

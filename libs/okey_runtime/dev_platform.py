"""A platform that standalone runs on this machine: where it is, and the key that signs its tokens.

Standalone writes the state file into its data folder, ``okeyctl`` and tests read it. The key is the
developer's own, outside every repository, and signs only for ``DEV_ISSUER``, which production
refuses.
"""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from joserfc.jwk import OKPKey
from pydantic import BaseModel, ValidationError

from okey_runtime.channel import replicas_target
from okey_runtime.files import write_atomically
from okey_runtime.keys import signing_key_at

DATA_DIR_VARIABLE: Final = "OKEY_DATA_DIR"
DEFAULT_DATA_DIR: Final = Path(".okey")
_STATE_FILE: Final = "standalone.json"
_KEY_FILE: Final = "dev-signing-key.json"


class PlatformNotRunning(Exception):
    """No platform runs with that data folder; the message says how to start one or name another."""


class RunningProcess(BaseModel, frozen=True):
    """One child: what it is one of, its process id, whether it takes work, ``host:port`` of what it
    serves, of its metrics and of its page ("" for none).
    """

    kind: str
    pid: int
    is_ready: bool
    address: str
    metrics_address: str = ""
    page_url: str = ""


class DevPlatform(BaseModel, frozen=True):
    """The running platform: standalone's own process id, the file of the key that signs its tokens,
    and its children by name.
    """

    pid: int
    key_file: Path
    processes: Mapping[str, RunningProcess]

    def save(self, data_dir: Path) -> None:
        """Write the state file, all at once."""
        write_atomically(data_dir / _STATE_FILE, self.model_dump_json(indent=2))

    @staticmethod
    def remove(data_dir: Path) -> None:
        """The platform has stopped."""
        (data_dir / _STATE_FILE).unlink(missing_ok=True)

    @classmethod
    def find(cls, data_dir: Path) -> "DevPlatform":
        """The platform that runs with that data folder.

        Raises:
            PlatformNotRunning: there is no state file, or the process it names is gone.
        """
        path = data_dir / _STATE_FILE
        try:
            found = cls.model_validate_json(path.read_text())
            os.kill(found.pid, 0)
        except (OSError, ValidationError) as error:
            raise PlatformNotRunning(
                f"no platform runs with the data folder {data_dir.absolute()}: start one with "
                f"'make run', or name its folder with --data-dir or {DATA_DIR_VARIABLE}"
            ) from error
        return found

    @property
    def is_ready(self) -> bool:
        """Whether every child takes work."""
        return all(process.is_ready for process in self.processes.values())

    def address(self, kind: str) -> str:
        """Where callers find a service: ``host:port``, or one target for all processes of it."""
        return replicas_target(self.addresses(kind).values())

    def addresses(self, kind: str) -> dict[str, str]:
        """``host:port`` of every process of a service, by its name."""
        return {name: own.address for name, own in self.processes.items() if own.kind == kind}


def dev_key_file() -> Path:
    """Where this user's development key is kept: ``$XDG_STATE_HOME/okey``, by default below
    ``~/.local/state``.
    """
    home = os.environ.get("XDG_STATE_HOME")
    state_home = Path(home) if home else Path.home() / ".local" / "state"
    return state_home / "okey" / _KEY_FILE


def make_dev_key() -> OKPKey:
    """The development key; a random one is made and stored (mode 0600) where there is none.

    Raises:
        KeyFileBroken: the file holds no key, or others may read it.
    """
    return signing_key_at(dev_key_file())

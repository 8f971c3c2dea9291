"""A network namespace of our own, so that attacks reach this run's cluster and nothing else."""

import os
import shutil
import subprocess
import sys
from typing import Final

NETNS: Final = "OKEY_ATTACK_NETNS"
"""Set once we are in the namespace."""

_PACKAGES: Final = {"ip": "iproute2", "unshare": "util-linux"}


class NetworkMissing(Exception):
    """The machine cannot give us a network of our own; the message says why, and what to do."""


def enter_own_network(module: str) -> None:
    """Return in a network namespace of our own with loopback up; else become ``python -m module``
    with the same arguments in a new one. It vanishes with the last process in it.

    Raises:
        NetworkMissing: that cannot be done here.
    """
    missing = [package for tool, package in _PACKAGES.items() if shutil.which(tool) is None]
    if missing:
        packages = " ".join(sorted(missing))
        raise NetworkMissing(
            f"the attacks need Debian packages that are not installed: {packages}. "
            f"Install them: apt-get install {packages}"
        )
    if NETNS in os.environ:
        subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
        return
    tried = subprocess.run(
        ["unshare", "--net", "true"], capture_output=True, text=True, check=False
    )
    if tried.returncode != 0:
        raise NetworkMissing(
            f"the attacks run in a network namespace of their own, which was refused "
            f"({tried.stderr.strip()}): run as root, or in a container as root with the capability "
            "SYS_ADMIN"
        )
    command = ["unshare", "--net", "--", sys.executable, "-m", module, *sys.argv[1:]]
    os.execvpe(command[0], command, {**os.environ, NETNS: "1"})

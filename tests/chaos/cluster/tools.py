"""The tools that the whole fault run needs from the machine, and what to do without them."""

import os
import shutil
from pathlib import Path
from typing import Final

NETNS: Final = "OKEY_CHAOS_NETNS"
"""Set where we are in a network namespace of our own, which we may break."""

_PACKAGES: Final = {"ip": "iproute2", "nft": "nftables", "unshare": "util-linux"}
_FAKETIME: Final = "faketime/libfaketime.so.1"
_LIBRARIES: Final = (Path("/usr/lib"), Path("/usr/local/lib"))


class ToolsMissing(Exception):
    """The machine lacks what the run needs; the message says what to install."""


def faketime_library() -> Path | None:
    """The library that gives a process another time, where it is installed."""
    found = [path for folder in _LIBRARIES for path in folder.glob(f"*/{_FAKETIME}")]
    return min(found, default=None)


def require_tools() -> None:
    """Return if everything is there.

    Raises:
        ToolsMissing: something is not.
    """
    missing = [package for tool, package in _PACKAGES.items() if shutil.which(tool) is None]
    if faketime_library() is None:
        missing.append("libfaketime")
    if missing:
        packages = " ".join(sorted(missing))
        raise ToolsMissing(
            f"the fault run needs Debian packages that are not installed: {packages}. "
            f"Install them: apt-get install {packages}"
        )
    if os.geteuid() != 0:
        raise ToolsMissing(
            "the fault run makes a network namespace of its own, which only root may: run it as "
            "root, or in a container as root with the capability SYS_ADMIN"
        )

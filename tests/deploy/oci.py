"""The image as a registry would hand it out, built here without one, and containers made from it.

The base is bootstrapped from Debian (its own Python 3.11); the wheels are the locked ones, brought
by this machine's pip beforehand, so that the build itself reaches nothing. buildah builds the real
Dockerfile, umoci unpacks the result, runc runs it: read-only, as the image's user, without
capabilities, in the machine's network. All of that needs root and Debian's packages.
"""

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from tests.deploy.manifests import DEPLOY, ROOT

TOOLS: Final = ("buildah", "mmdebstrap", "umoci", "runc")
"""Programs, named like their Debian packages."""

_BASE: Final = "localhost/okey-base:bookworm"
_IMAGE: Final = "localhost/okey-platform:built"
_SUITE: Final = "bookworm"
# What python:3.11-slim has and Debian's minimum has not.
_PACKAGES: Final = "python3,python3-venv,python-is-python3,ca-certificates"
_NOT_HERE: Final = frozenset({"network", "cgroup"})
_TIMEOUT_S: Final = 600


def missing() -> list[str]:
    """What this machine lacks to build and run an image; empty where it lacks nothing."""
    lacking = [tool for tool in TOOLS if shutil.which(tool) is None]
    return lacking + ([] if os.geteuid() == 0 else ["root"])


@dataclass(frozen=True)
class Mount:
    """A folder of this machine, read-only in the container."""

    source: Path
    target: str


class BuiltImage:
    """The image, unpacked in a folder of its own."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._bundle = folder / "bundle"
        self._count = 0

    @classmethod
    def build(cls, folder: Path) -> "BuiltImage":
        """Bootstrap a base, build deploy/Dockerfile on it, unpack; about two minutes.

        Raises:
            subprocess.CalledProcessError: a step failed; its output says why.
        """
        made = cls(folder)
        made._make_base()
        made._bring_wheels()
        made._build()
        made._run("umoci", "unpack", "--image", f"{folder}/oci:built", str(made._bundle))
        return made

    @property
    def root(self) -> Path:
        """The file system that the image holds."""
        return self._bundle / "rootfs"

    @property
    def user(self) -> tuple[int, int]:
        """Uid and gid that the image runs as."""
        user = self._config()["process"]["user"]
        return user["uid"], user["gid"]

    @contextmanager
    def container(
        self, command: Sequence[str], variables: Mapping[str, str], mounts: Sequence[Mount]
    ) -> Iterator["subprocess.Popen[bytes]"]:
        """The command, running in a container; what is left of it is killed at the end."""
        self._count += 1
        name = f"okey-{os.getpid()}-{self._count}"
        bundle = self._folder / name
        bundle.mkdir()
        (bundle / "config.json").write_text(json.dumps(self._spec(command, variables, mounts)))
        runc = ("runc", "--root", str(self._folder / "runc"))
        process = subprocess.Popen([*runc, "run", "--bundle", str(bundle), name])
        try:
            yield process
        finally:
            subprocess.run(
                [*runc, "delete", "--force", name],
                check=False,
                capture_output=True,
                timeout=_TIMEOUT_S,
            )
            process.kill()
            process.wait()

    def _make_base(self) -> None:
        sources = Path("/etc/apt/sources.list.d/debian.sources")
        if not sources.exists():
            sources = Path("/etc/apt/sources.list")
        variant = ("--variant=minbase", f"--include={_PACKAGES}", _SUITE)
        self._run("mmdebstrap", *variant, str(self._folder / "base.tar"), str(sources))
        (self._folder / "Base").write_text("FROM scratch\nADD base.tar /\n")
        self._buildah(
            *("bud", "--isolation", "chroot", "--tag", _BASE, "--file", "Base"), str(self._folder)
        )

    def _bring_wheels(self) -> None:
        # The image's Python is another patch than ours: what either leaves out is brought too.
        runtime = (ROOT / "requirements" / "runtime.txt").read_text()
        everything = self._folder / "everything.txt"
        everything.write_text(re.sub(r" ; .* \\$", r" \\", runtime, flags=re.MULTILINE))
        build = ROOT / "requirements" / "build.txt"
        (self._folder / "wheels").mkdir()
        self._run(
            *(sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--require-hashes"),
            *("--only-binary", ":all:", "--dest", str(self._folder / "wheels")),
            *("--requirement", str(everything), "--requirement", str(build)),
        )
        (self._folder / "pip.conf").write_text(
            "[global]\nno-index = true\nfind-links = /wheelhouse\n"
        )

    def _build(self) -> None:
        self._buildah(
            *("bud", "--isolation", "chroot", "--pull-never", "--tag", _IMAGE),
            *("--build-arg", f"BASE_IMAGE={_BASE}", "--file", str(DEPLOY / "Dockerfile")),
            *("--ignorefile", str(DEPLOY / "Dockerfile.dockerignore")),
            *("--volume", f"{self._folder}/wheels:/wheelhouse:ro"),
            *("--volume", f"{self._folder}/pip.conf:/etc/pip.conf:ro"),
            str(ROOT),
        )
        self._buildah("push", _IMAGE, f"oci:{self._folder}/oci:built")

    def _buildah(self, *arguments: str) -> None:
        store = ("--root", f"{self._folder}/store", "--runroot", f"{self._folder}/run")
        self._run("buildah", *store, "--storage-driver", "vfs", *arguments)

    def _run(self, *command: str) -> None:
        subprocess.run(command, check=True, cwd=self._folder, timeout=_TIMEOUT_S)

    def _config(self) -> dict[str, dict[str, dict[str, int]]]:
        config: dict[str, dict[str, dict[str, int]]] = json.loads(
            (self._bundle / "config.json").read_text()
        )
        return config

    def _spec(
        self, command: Sequence[str], variables: Mapping[str, str], mounts: Sequence[Mount]
    ) -> dict[str, object]:
        """What umoci made of the image's settings, with what a restricted pod adds."""
        spec: dict[str, Any] = json.loads((self._bundle / "config.json").read_text())
        process = spec["process"]
        process["args"] = list(command)
        process["env"] += [f"{name}={value}" for name, value in variables.items()]
        process["terminal"] = False
        process["noNewPrivileges"] = True
        process["capabilities"] = {name: [] for name in process["capabilities"]}
        # What is not ours to limit here, where nothing may be written below /sys.
        process.pop("rlimits", None)
        spec["linux"].pop("resources", None)
        spec["linux"]["namespaces"] = [
            one for one in spec["linux"]["namespaces"] if one["type"] not in _NOT_HERE
        ]
        spec["root"] = {"path": str(self.root), "readonly": True}
        spec["mounts"] = [
            *(one for one in spec["mounts"] if one["type"] in ("proc", "tmpfs", "devpts")),
            *(self._bind(mount) for mount in mounts),
        ]
        return spec

    def _bind(self, mount: Mount) -> dict[str, object]:
        # The kubelet's runtime makes the mount point too, before the root turns read-only.
        (self.root / mount.target.removeprefix("/")).mkdir(parents=True, exist_ok=True)
        options = ["rbind", "ro", "nosuid", "nodev"]
        return {
            "destination": mount.target,
            "type": "bind",
            "source": str(mount.source),
            "options": options,
        }

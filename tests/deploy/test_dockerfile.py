"""The image: what hadolint says, and what of it the manifests and the locks rely on."""

import re
import subprocess
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Final

import pytest

from tests.deploy.code import SERVICES
from tests.deploy.manifests import DEPLOY, ROOT, Platform, build

DOCKERFILE: Final = DEPLOY / "Dockerfile"
HADOLINT: Final = Path(sys.executable).with_name("hadolint")


def stages(text: str) -> list[list[str]]:
    """The instructions of each stage, continued lines joined, comments left out."""
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    joined = re.sub(r"\\\n\s*", "", "\n".join(lines)).splitlines()
    starts = [n for n, line in enumerate(joined) if line.startswith("FROM ")]
    return [joined[a:b] for a, b in zip(starts, [*starts[1:], len(joined)], strict=True)]


def base_is_an_argument(text: str) -> bool:
    """Every stage starts from BASE_IMAGE, by default a slim Python 3.11 pinned by digest."""
    default = re.search(r"^ARG BASE_IMAGE=(\S+)$", text, re.MULTILINE)
    return (
        default is not None
        and re.fullmatch(r"\S*python:3\.11\.\d+-slim-\w+@sha256:[0-9a-f]{64}", default[1])
        is not None
        and all(stage[0].split()[1] == "${BASE_IMAGE}" for stage in stages(text))
    )


def only_locked_wheels_are_installed(text: str) -> bool:
    """Each pip command checks hashes and compiles nothing, or takes nothing from an index."""
    commands = re.findall(
        r"pip\S*(?: --python \S+)? (?:install|wheel)[^&]*", " && ".join(_runs(text))
    )
    return bool(commands) and all(
        ("--require-hashes" in one and "--only-binary :all:" in one) or "--no-index" in one
        for one in commands
    )


def final_stage_only_copies(text: str) -> bool:
    """Nothing is run in the final stage, so it has no compiler that its base has not."""
    return {line.split()[0] for line in stages(text)[-1]} <= {
        "FROM",
        "COPY",
        "ENV",
        "WORKDIR",
        "USER",
    }


def final_user_is_the_pods(text: str) -> bool:
    """The last word on the user is the number that the pods run as."""
    users = [line.split()[1] for line in stages(text)[-1] if line.startswith("USER ")]
    platform = Platform.read(build(DEPLOY / "base"))
    uids = {platform.workloads[name].pod.security_context.run_as_user for name in SERVICES}
    return users[-1:] == ["10001:10001"] and uids == {10001}


def copied_files_exist(text: str) -> bool:
    """What is copied from the repository is there, and the ignore file lets it through."""
    copied = [
        source
        for line in stages(text)[0]
        if line.startswith("COPY ")
        for source in line.split()[1:-1]
    ]
    ignore = (DEPLOY / "Dockerfile.dockerignore").read_text().splitlines()
    return bool(copied) and all(
        (ROOT / source).exists() and f"!{source.partition('/')[0]}" in ignore for source in copied
    )


RULES: Final[dict[Callable[[str], bool], tuple[str, str]]] = {
    base_is_an_argument: (r"FROM \$\{BASE_IMAGE\}$", "FROM python:3.11.14-slim-bookworm"),
    only_locked_wheels_are_installed: (r"--require-hashes ", ""),
    final_stage_only_copies: (r"^WORKDIR /$", "RUN apt-get install gcc"),
    final_user_is_the_pods: (r"^USER .*$", "USER root"),
    copied_files_exist: (r"^COPY libs libs$", "COPY library libs"),
}
"""A rule, and what to replace by what so that it is broken."""


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_dockerfile_keeps_the_rule(rule: Callable[[str], bool]) -> None:
    assert rule(DOCKERFILE.read_text())


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_rule_sees_a_spoiled_dockerfile(rule: Callable[[str], bool]) -> None:
    text = DOCKERFILE.read_text()
    pattern, replacement = RULES[rule]

    spoiled = re.sub(pattern, replacement, text, flags=re.MULTILINE)

    assert spoiled != text
    assert not rule(spoiled)


def test_hadolint_finds_nothing() -> None:
    assert hadolint(DOCKERFILE) == ""


def test_hadolint_would_find_something(tmp_path: Path) -> None:
    spoiled = tmp_path / "Dockerfile"
    spoiled.write_text("FROM python:latest\nRUN cd /tmp && pip install grpcio\n")

    assert {"DL3007", "DL3013"} <= set(re.findall(r"DL\d+", hadolint(spoiled)))


def test_image_has_the_project_version() -> None:
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    platform = Platform.read(build(DEPLOY / "base"))

    images = {workload.container.image for workload in platform.workloads.values()}

    assert images == {f"okey-platform:{version}"}


def hadolint(file: Path) -> str:
    """What it says about the file."""
    found = subprocess.run([str(HADOLINT), str(file)], capture_output=True, text=True, check=False)
    return found.stdout + found.stderr


def _runs(text: str) -> list[str]:
    return [line for stage in stages(text) for line in stage if line.startswith("RUN ")]

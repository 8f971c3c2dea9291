"""A real Prometheus that scrapes processes of this machine and judges our own rules."""

import asyncio
import json
import shutil
import urllib.parse
import urllib.request
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import yaml

from tests.deploy.manifests import DEPLOY
from tests.fixtures.valkey import free_port

PROMETHEUS: Final = shutil.which("prometheus")
"""None on a machine without it; Debian's package is `prometheus`."""

_LOOK_EVERY_S: Final = 0.2


@dataclass(frozen=True)
class Prometheus:
    """A running one."""

    address: str

    async def query(self, expression: str) -> list[dict[str, Any]]:
        """The samples that an expression has now: ``metric`` and ``value``."""
        found: list[dict[str, Any]] = (await self._ask("query", query=expression))["result"]
        return found

    async def broken_rules(self) -> list[str]:
        """Rules that could not be evaluated, and why."""
        groups = (await self._ask("rules"))["groups"]
        rules = [rule for group in groups for rule in group["rules"]]
        assert rules, "no rules were loaded"
        return [f"{rule['name']}: {rule['lastError']}" for rule in rules if rule.get("lastError")]

    async def until_firing(self, alert: str) -> None:
        """Return once the alert is on."""
        await self._until(alert, is_on=True)

    async def until_quiet(self, alert: str) -> None:
        """Return once the alert is off."""
        await self._until(alert, is_on=False)

    async def firing(self) -> set[str]:
        """The alerts that are on."""
        alerts = (await self._ask("alerts"))["alerts"]
        return {one["labels"]["alertname"] for one in alerts if one["state"] == "firing"}

    async def until_up(self, targets: int) -> None:
        """Return once so many targets were scraped."""
        while True:
            if len(await self.query("up == 1")) == targets:
                return
            await asyncio.sleep(_LOOK_EVERY_S)

    async def _until(self, alert: str, *, is_on: bool) -> None:
        while True:
            if (alert in await self.firing()) == is_on:
                return
            await asyncio.sleep(_LOOK_EVERY_S)

    async def _ask(self, what: str, **parameters: str) -> dict[str, Any]:
        url = f"http://{self.address}/api/v1/{what}?{urllib.parse.urlencode(parameters)}"
        answer = await asyncio.to_thread(_read, url)
        data: dict[str, Any] = json.loads(answer)["data"]
        return data


@asynccontextmanager
async def scraping(targets: Mapping[str, list[str]], folder: Path) -> AsyncIterator[Prometheus]:
    """Prometheus with the rules of deploy/rules; ``targets`` are ``host:port`` by job."""
    assert PROMETHEUS is not None, "checked by the caller"
    config = {
        "global": {"scrape_interval": "1s", "evaluation_interval": "1s"},
        "rule_files": [str(file) for file in sorted((DEPLOY / "rules").glob("*.yaml"))],
        "scrape_configs": [
            {"job_name": job, "static_configs": [{"targets": addresses}]}
            for job, addresses in targets.items()
        ],
    }
    (folder / "prometheus.yaml").write_text(yaml.safe_dump(config))
    found = Prometheus(f"127.0.0.1:{free_port()}")
    with (folder / "prometheus.log").open("wb") as log:
        process = await asyncio.create_subprocess_exec(
            PROMETHEUS,
            f"--config.file={folder / 'prometheus.yaml'}",
            f"--storage.tsdb.path={folder / 'tsdb'}",
            f"--web.listen-address={found.address}",
            stdout=log,
            stderr=log,
        )
    try:
        while True:
            if await asyncio.to_thread(_is_ready, found.address):
                break
            assert process.returncode is None, (folder / "prometheus.log").read_text()
            await asyncio.sleep(_LOOK_EVERY_S)
        yield found
    finally:
        if process.returncode is None:
            process.terminate()
        await process.wait()


def _read(url: str) -> bytes:
    with urllib.request.urlopen(url, timeout=10) as answer:
        page: bytes = answer.read()
        return page


def _is_ready(address: str) -> bool:
    try:
        _read(f"http://{address}/-/ready")
    except OSError:
        return False
    return True

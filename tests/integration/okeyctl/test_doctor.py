"""The doctor on real services in this process: one thing is broken, and it names that thing."""

from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack
from pathlib import Path

import pytest
from pydantic import SecretStr
from sqlalchemy import Connection, text

from okey_runtime.clock import Clock, SystemClock
from okey_runtime.config import Environment, ServiceSettings
from okey_runtime.database import Database
from okey_runtime.identity import Role
from okey_runtime.server import ServiceServer
from okey_runtime.service_token import MetadataProvider, fixed_token
from services.bots.app import BotsApp
from services.lobby.app import LobbyApp
from services.lobby.settings import LobbySettings
from services.okeyctl.doctor.judge import Finding, State, judge
from services.okeyctl.doctor.observe import TokenFor, observe
from services.rating.app import RatingApp
from services.rating.settings import RatingSettings
from services.wallet.app import WalletApp, WalletSettings
from tests.fixtures.issuer import Issuer
from tests.fixtures.ledger import LedgerDatabase, LedgerUrls
from tests.fixtures.valkey import Valkey, valkey, valkey_server

__all__ = ["valkey", "valkey_server"]


class Ahead(SystemClock):
    """A wall clock that somebody has set wrong."""

    def now_ms(self) -> int:
        return super().now_ms() + 40_000


class Installation:
    """Rating, wallet and bots, each with what it needs; more of each can be added."""

    def __init__(self, folder: Path) -> None:
        self.issuer = Issuer(folder)
        self.targets: dict[str, str] = {}
        self.folder = folder
        self._servers = AsyncExitStack()
        self.bots: ServiceServer

    async def __aenter__(self) -> "Installation":
        common = self.settings()
        rating = common | {
            "database_url": SecretStr(f"sqlite:///{self.folder / 'rating.db'}"),
        }
        wallet = common | {
            "database_url": SecretStr(f"sqlite:///{self.folder / 'wallet.db'}"),
            "chain_key_file": self.folder / "chain.json",
            "environment": Environment.STANDALONE,
        }
        self.bots = await self.serve(BotsApp(ServiceSettings.model_validate(common)))
        running = {
            "bots": self.bots,
            "rating": await self.serve(RatingApp(RatingSettings.model_validate(rating))),
            "wallet": await self.serve(WalletApp(WalletSettings.model_validate(wallet))),
        }
        self.targets = {kind: server.address for kind, server in running.items()}
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._servers.aclose()

    def settings(self) -> dict[str, object]:
        return {
            "environment": Environment.TEST,
            "jwks_file": self.issuer.jwks_file,
            "stop_grace_ms": 0,
        }

    async def serve(
        self, app: BotsApp | LobbyApp | RatingApp | WalletApp, clock: Clock | None = None
    ) -> ServiceServer:
        return await self._servers.enter_async_context(ServiceServer(app, clock))

    async def bad(
        self,
        tokens: TokenFor | None = None,
        targets: Mapping[str, str] | None = None,
    ) -> list[Finding]:
        operator = tokens or (lambda kind: self.issuer.metadata("op", Role.OPERATOR, to=kind))
        looked_at = self.targets if targets is None else targets
        observed = await observe(looked_at, operator, SystemClock(), with_ledger=True)
        return [finding for finding in judge(observed) if finding.state is not State.OK]


@pytest.fixture
async def installation(tmp_path: Path) -> AsyncIterator[Installation]:
    async with Installation(tmp_path) as installation:
        yield installation


async def test_nothing_is_found_where_all_is_well(installation: Installation) -> None:
    assert await installation.bad() == []


async def test_a_process_that_has_died(installation: Installation) -> None:
    await installation.bots.stop()
    (finding,) = await installation.bad()
    address = installation.targets["bots"]
    assert (finding.check, finding.where) == ("address", f"bots {address}")


async def test_a_redis_that_has_died(installation: Installation, valkey: Valkey) -> None:
    settings = installation.settings() | {
        "engine_address": "127.0.0.1:1",
        "wallet_address": installation.targets["wallet"],
        "rating_address": installation.targets["rating"],
        "redis_url": valkey.url,
        "service_token_dir": installation.issuer.service_token_dir(installation.folder, Role.LOBBY),
    }
    lobby = await installation.serve(LobbyApp(LobbySettings.model_validate(settings)))
    targets = installation.targets | {"lobby": lobby.address}
    valkey.kill()
    findings = await installation.bad(targets=targets)
    [about] = [finding for finding in findings if finding.check == "redis"]
    assert about.state is State.WRONG
    assert "OKEY_REDIS_URL" in about.advice


async def test_a_token_that_has_expired(installation: Installation) -> None:
    def old(kind: str) -> MetadataProvider:
        return fixed_token(
            installation.issuer.token("op", [Role.OPERATOR], ttl_ms=-60_000, to=kind)
        )

    findings = await installation.bad(old)
    assert {finding.check for finding in findings} == {"token"}
    assert all("TOKEN_EXPIRED" in finding.text for finding in findings)
    assert len(findings) == 3


async def test_a_player_is_told_which_role_it_needs(installation: Installation) -> None:
    findings = await installation.bad(lambda _: installation.issuer.metadata("ayse"))
    assert {finding.advice for finding in findings} == {"use a token with the role operator"}


async def test_a_service_that_trusts_other_keys(installation: Installation) -> None:
    (installation.folder / "other").mkdir()
    others = Issuer(installation.folder / "other")
    settings = installation.settings() | {"jwks_file": others.jwks_file}
    stranger = await installation.serve(BotsApp(ServiceSettings.model_validate(settings)))
    targets = installation.targets | {"bots": stranger.address}
    (finding,) = await installation.bad(targets=targets)
    assert (finding.check, finding.where) == ("token", f"bots {stranger.address}")
    assert "TOKEN_INVALID" in finding.text
    assert "JWKS" in finding.advice


async def test_a_clock_that_is_wrong(installation: Installation) -> None:
    settings = ServiceSettings.model_validate(installation.settings())
    ahead = await installation.serve(BotsApp(settings), Ahead())
    targets = installation.targets | {"bots": ahead.address}
    (finding,) = await installation.bad(targets=targets)
    assert (finding.check, finding.where) == ("clock", f"bots {ahead.address}")
    assert finding.state is State.WRONG
    assert "ahead of the others" in finding.text


async def test_an_own_token_that_nobody_renews(installation: Installation) -> None:
    soon = installation.issuer.token("w", [Role.WALLET], ttl_ms=60_000, to="engine")
    (installation.folder / "engine.token").write_text(soon)
    settings = installation.settings() | {
        "database_url": SecretStr(f"sqlite:///{installation.folder / 'second.db'}"),
        "chain_key_file": installation.folder / "chain.json",
        "environment": Environment.STANDALONE,
        "service_token_dir": installation.folder,
        "engine_address": "127.0.0.1:1",
    }
    wallet = await installation.serve(WalletApp(WalletSettings.model_validate(settings)))
    findings = await installation.bad(targets={"wallet": wallet.address})
    assert {finding.check for finding in findings} == {"own token", "engine"}
    [about] = [finding for finding in findings if finding.check == "own token"]
    assert (about.state, about.advice) == (
        State.WARNING,
        f"see whether somebody renews {installation.folder / 'engine.token'}",
    )


async def test_a_process_that_leaves(installation: Installation) -> None:
    await installation.bots.readiness.block("draining")
    (finding,) = await installation.bad()
    assert (finding.check, finding.text) == ("health", "takes no work: draining")


async def test_a_schema_that_was_left_behind(installation: Installation) -> None:
    database = Database(f"sqlite:///{installation.folder / 'rating.db'}")

    def forget(connection: Connection) -> None:
        connection.execute(text("UPDATE alembic_version SET version_num = '0000'"))

    await database.transact(forget)
    await database.close()
    (finding,) = await installation.bad()
    assert (finding.check, finding.state) == ("database", State.WRONG)
    assert "schema 0000" in finding.text


async def test_two_processes_of_a_service_on_two_databases(installation: Installation) -> None:
    settings = installation.settings() | {
        "database_url": SecretStr(f"sqlite:///{installation.folder / 'elsewhere.db'}")
    }
    second = await installation.serve(RatingApp(RatingSettings.model_validate(settings)))
    both = f"ipv4:{installation.targets['rating']},{second.address}"
    (finding,) = await installation.bad(targets=installation.targets | {"rating": both})
    assert (finding.check, finding.where) == ("database", "rating")
    assert f"elsewhere.db at rating {second.address}" in finding.text


async def test_a_ledger_that_somebody_has_written_to(installation: Installation) -> None:
    urls = LedgerUrls.of_anyone(f"sqlite:///{installation.folder / 'wallet.db'}")
    ledger = LedgerDatabase(urls)
    await ledger.tamper(
        "INSERT INTO accounts (account, balance, version, frozen) "
        "VALUES ('player:thief', 5000, 0, 0)"
    )
    await ledger.close()
    findings = await installation.bad()
    assert {finding.check for finding in findings} == {"ledger"}
    assert any("player:thief" in finding.text for finding in findings)

"""The services' own tokens: written, trusted, renewed before they end."""

import asyncio
import stat
from pathlib import Path

import pytest

from okey_runtime.audiences import Audiences, WrongAudience
from okey_runtime.auth import JwksFile, Role, TokenExpired, TokenVerifier, create_signing_key
from okey_runtime.clock import VirtualClock
from okey_runtime.config import DEV_ISSUER
from services.standalone.tokens import CALLED_BY, TOKEN_TTL_MS, ServiceTokens
from tools.manifests.edges import Edges

SKEW_MS = 30_000
SERVICES = ("lobby", "engine", "wallet", "rating", "bots")
CALLS = [(role, callee) for role, callees in CALLED_BY.items() for callee in callees]


@pytest.fixture
def clock() -> VirtualClock:
    return VirtualClock()


@pytest.fixture
def tokens(tmp_path: Path, clock: VirtualClock) -> ServiceTokens:
    tokens = ServiceTokens(create_signing_key(tmp_path / "key"), tmp_path / "tokens", clock)
    tokens.write()
    return tokens


def verifier(tokens: ServiceTokens, clock: VirtualClock, *services: str) -> TokenVerifier:
    """As a service checks what it is shown."""
    return TokenVerifier(
        JwksFile(tokens.jwks_file),
        issuer=DEV_ISSUER,
        clock=clock,
        skew_ms=SKEW_MS,
        audiences=Audiences(services),
    )


@pytest.mark.parametrize(("role", "callee"), CALLS)
def test_each_service_has_a_token_with_its_own_role_alone_for_each_that_it_calls(
    tokens: ServiceTokens, clock: VirtualClock, role: Role, callee: str
) -> None:
    token = (tokens.folder(role) / f"{callee}.token").read_text()
    home = "engine" if callee == "peer" else callee
    identity = verifier(tokens, clock, home).verify(token)
    assert identity.roles == {role}
    assert identity.expires_ms == clock.now_ms() + TOKEN_TTL_MS + SKEW_MS
    for other in set(SERVICES) - {home}:
        with pytest.raises(WrongAudience):
            verifier(tokens, clock, other).verify(token)


def test_who_calls_whom_is_what_the_networks_matrix_says() -> None:
    edges = Edges.read(Path(__file__).parents[3] / "deploy" / "edges.yaml")
    services = {role: set(edges.grpc.get(role, ())) - {"gateway"} for role in SERVICES}
    told = {
        role: {"engine" if each == "peer" else each for each in CALLED_BY.get(Role(role), ())}
        for role in SERVICES
    }
    assert told == services


def test_no_service_is_a_player_or_an_operator() -> None:
    assert not {Role.PLAYER, Role.OPERATOR, Role.INTEGRATOR} & set(CALLED_BY)


def test_the_folder_is_the_users_alone(tokens: ServiceTokens) -> None:
    assert stat.S_IMODE(tokens.jwks_file.parent.stat().st_mode) == 0o700


async def test_tokens_are_renewed_at_half_of_their_life(
    tokens: ServiceTokens, clock: VirtualClock
) -> None:
    file = tokens.folder(Role.ENGINE) / "wallet.token"
    first = file.read_text()
    renewing = asyncio.create_task(tokens.keep_fresh())
    await asyncio.sleep(0)
    clock.advance_ms(TOKEN_TTL_MS // 2 - 1)
    await asyncio.sleep(0)
    assert file.read_text() == first
    clock.advance_ms(1)
    await asyncio.sleep(0)
    second = file.read_text()
    assert second != first
    await asyncio.sleep(0)
    clock.advance_ms(TOKEN_TTL_MS // 2)
    await asyncio.sleep(0)
    assert file.read_text() not in (first, second)
    renewing.cancel()
    clock.advance_ms(TOKEN_TTL_MS)
    with pytest.raises(TokenExpired):
        verifier(tokens, clock, "wallet").verify(second)

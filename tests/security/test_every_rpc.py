"""Every RPC of every service refuses whom it has to, and lets in whom its table names."""

import asyncio
from collections.abc import Awaitable, Iterable, Sequence
from typing import TypeVar

import grpc
import pytest
from joserfc.jwk import OKPKey
from structlog.testing import capture_logs

from okey_runtime.access import Public
from okey_runtime.audiences import PEER, PUBLIC_ROLES
from okey_runtime.auth import create_signing_key, load_signing_key, mint, write_jwks
from okey_runtime.clock import SystemClock
from okey_runtime.identity import Role
from tests.security.forging import HOUR_MS, bad_tokens
from tests.security.rpcs import Rpc, access_of, callee_of, every_rpc
from tests.security.stand import PATIENCE_S, Everything, Outcome
from tests.unit.test_access_tables import APPS

RPCS = every_rpc()
UNREADABLE = b"\xff"
"""No message of ours: who may call is told so, and nothing is done."""

T = TypeVar("T")


async def together(work: Iterable[Awaitable[T]]) -> list[T]:
    """All of it, at most 16 at a time."""
    room = asyncio.Semaphore(16)

    async def one(each: Awaitable[T]) -> T:
        async with room:
            return await each

    return list(await asyncio.gather(*map(one, work)))


async def refusals(
    world: Everything,
    token: str | None,
    patience_s: float = PATIENCE_S,
    rpcs: Sequence[Rpc] = RPCS,
) -> dict[str, Outcome]:
    """How each of the RPCs answers that token, by its short name.

    A stream of requests says nothing: gRPC tells of a write that its refusal has overtaken as of a
    break.
    """
    payloads = [[] if rpc.takes_stream else [UNREADABLE] for rpc in rpcs]
    calls = [
        world.call(rpc, said, token, patience_s) for rpc, said in zip(rpcs, payloads, strict=True)
    ]
    return dict(zip([rpc.short for rpc in rpcs], await together(calls), strict=True))


def allowed(rpc: Rpc) -> frozenset[Role]:
    rule = access_of(rpc.home).rules()[rpc.path]
    assert not isinstance(rule, Public)
    return rule


def test_the_walk_finds_the_rpcs() -> None:
    assert len(RPCS) > 60
    assert {rpc.home for rpc in RPCS} == APPS.keys()


async def test_no_rpc_is_served_without_a_token(world: Everything) -> None:
    for name, outcome in (await refusals(world, None)).items():
        assert (outcome.code, outcome.reason) == (
            grpc.StatusCode.UNAUTHENTICATED,
            "TOKEN_MISSING",
        ), name


@pytest.mark.parametrize("home", APPS)
async def test_no_rpc_takes_a_token_that_is_wrong_in_any_way(world: Everything, home: str) -> None:
    rpcs = [rpc for rpc in RPCS if rpc.home == home]
    for wrong, reason, token in bad_tokens(world.folder, home):
        for name, outcome in (await refusals(world, token, rpcs=rpcs)).items():
            said = f"{name} with a token {wrong}"
            assert (outcome.code, outcome.reason) == (
                grpc.StatusCode.UNAUTHENTICATED,
                reason,
            ), said
            assert not any(part in outcome.message for part in token.split(".") if len(part) > 1)


@pytest.mark.parametrize("role", Role)
async def test_each_rpc_lets_in_exactly_the_roles_of_its_table(
    world: Everything, role: Role
) -> None:
    tokens = {
        home: world.issuer.token(f"some-{role}", [role], to=callee_of(home, role)) for home in APPS
    }

    async def outcome(rpc: Rpc) -> Outcome:
        token = tokens[rpc.home]
        quiet = rpc.takes_stream and role not in allowed(rpc)
        return await world.call(rpc, [] if quiet else [UNREADABLE], token)

    for rpc, found in zip(RPCS, await together(map(outcome, RPCS)), strict=True):
        expected = "MALFORMED_REQUEST" if role in allowed(rpc) else "ROLE_REFUSED"
        assert found.reason == expected, f"{rpc.short} as {role}: {found}"


@pytest.mark.parametrize("role", sorted(set(Role) - PUBLIC_ROLES))
async def test_no_rpc_takes_a_services_or_operators_token_of_another_audience(
    world: Everything, role: Role
) -> None:
    """Each role, with the audience of players and of every callee but the one that is called."""
    for audience in ("", *APPS, PEER):
        token = world.issuer.token(f"some-{role}", [role], to=audience)
        rpcs = [rpc for rpc in RPCS if callee_of(rpc.home, role) != audience]
        for name, outcome in (await refusals(world, token, rpcs=rpcs)).items():
            assert outcome.reason == "WRONG_AUDIENCE", f"{name} as {role} for {audience}: {outcome}"


async def test_a_token_without_a_role_opens_nothing(world: Everything) -> None:
    outcomes = await refusals(world, world.issuer.token("x", []))
    assert {outcome.reason for outcome in outcomes.values()} == {"ROLE_REFUSED"}


async def test_keys_are_rotated_under_running_services(world: Everything) -> None:
    old = load_signing_key(world.folder / "signing-key.json")
    new = create_signing_key(world.folder / "next-key.json", "next")
    now_ms = SystemClock().now_ms()

    def token_of(key: OKPKey) -> str:
        return mint(key, subject="ayse", roles=list(Role), now_ms=now_ms, ttl_ms=HOUR_MS)

    async def reasons(token: str) -> set[str]:
        # Not for ever: Play waits for its first message where the token is good.
        return {outcome.reason for outcome in (await refusals(world, token, 0.3)).values()}

    try:
        assert await reasons(token_of(new)) == {"TOKEN_INVALID"}
        write_jwks(world.issuer.jwks_file, old, new)
        assert "TOKEN_INVALID" not in await reasons(token_of(new)) | await reasons(token_of(old))
        write_jwks(world.issuer.jwks_file, new)
        assert await reasons(token_of(old)) == {"TOKEN_INVALID"}
        with capture_logs() as lines:
            world.issuer.jwks_file.write_text("{}")
            assert "TOKEN_INVALID" not in await reasons(token_of(new))
        assert "jwks_change_refused" in {line["event"] for line in lines}
    finally:
        write_jwks(world.issuer.jwks_file, old)

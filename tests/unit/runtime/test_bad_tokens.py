"""Hosts that show bad tokens are slowed down; whoever plays from there notices nothing."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack

import grpc
import pytest
from structlog.testing import capture_logs

from okey_runtime.bad_tokens import BadTokens, TooManyBadTokens, host_of_peer
from okey_runtime.channel import open_channel
from okey_runtime.clock import VirtualClock
from okey_runtime.config import ServiceSettings
from okey_runtime.errors import RpcFailure, Unauthenticated
from okey_runtime.server import ServiceServer
from okey_runtime.service_token import fixed_token
from tests.unit.runtime.caller import Caller
from tests.unit.runtime.echo import UNARY, EchoApp, ask
from tests.unit.runtime.tokens import Issuer


class Stand:
    """A service that takes three bad tokens at once, and one a second."""

    def __init__(self, address: str, issuer: Issuer, stack: AsyncExitStack) -> None:
        self._address = address
        self._issuer = issuer
        self._stack = stack

    async def with_token(self, token: str) -> Caller:
        channel = open_channel(self._address, token=fixed_token(token))
        return Caller(await self._stack.enter_async_context(channel))

    async def refusal(self, token: str) -> RpcFailure:
        return await (await self.with_token(token)).failure(UNARY, ask())


@pytest.fixture
async def stand(settings: ServiceSettings, issuer: Issuer) -> AsyncIterator[Stand]:
    changed = settings.model_copy(update={"bad_tokens_per_s": 1, "bad_tokens_burst": 3})
    async with AsyncExitStack() as stack:
        server = ServiceServer(EchoApp(changed), issuer.clock)
        await stack.enter_async_context(server)
        yield Stand(server.address, issuer, stack)


async def test_a_host_with_too_many_bad_tokens_is_told_to_wait(
    stand: Stand, issuer: Issuer
) -> None:
    established = await stand.with_token(issuer.token("ayse"))
    await established.call(UNARY, ask())
    bad = issuer.token(audience="other")
    assert [(await stand.refusal(bad)).reason for _ in range(3)] == ["WRONG_AUDIENCE"] * 3
    for token in (bad, issuer.token("fatma")):
        failure = await stand.refusal(token)
        assert (failure.code, failure.reason, failure.retry_after_ms) == (
            grpc.StatusCode.RESOURCE_EXHAUSTED,
            "TOO_MANY_BAD_TOKENS",
            1_001,
        )
    await established.call(UNARY, ask())
    issuer.clock.advance_ms(1_001)
    await (await stand.with_token(issuer.token("fatma"))).call(UNARY, ask())
    assert (await stand.refusal(bad)).reason == "WRONG_AUDIENCE"


class From:
    """A call from somewhere."""

    def __init__(self, peer: str) -> None:
        self._peer = peer

    def peer(self) -> str:
        return self._peer


def shows_a_bad_token(bad_tokens: BadTokens, peer: str) -> bool:
    """Whether the token was looked at."""
    try:
        with bad_tokens.looked_at("bad", From(peer)):
            raise Unauthenticated("no")
    except TooManyBadTokens:
        return False
    except Unauthenticated:
        return True


def test_each_host_is_counted_by_itself_and_told_of_in_one_line() -> None:
    clock = VirtualClock()
    bad_tokens = BadTokens(1, 2, clock, lambda token: False)
    peers = ("ipv4:10.0.0.1:1000", "ipv4:10.0.0.1:2000", "ipv4:10.0.0.1:3000", "ipv4:10.0.0.2:1")
    with capture_logs() as lines:
        assert [shows_a_bad_token(bad_tokens, peer) for peer in peers] == [True, True, False, True]
        clock.advance_ms(1_000)
        assert [shows_a_bad_token(bad_tokens, peers[0]) for _ in range(2)] == [True, False]
    assert [line["host"] for line in lines] == ["10.0.0.1"]


def test_good_tokens_of_a_host_cost_nothing() -> None:
    bad_tokens = BadTokens(1, 1, VirtualClock(), lambda token: False)
    for _ in range(5):
        with bad_tokens.looked_at("good", From("ipv4:10.0.0.1:1")):
            pass
    assert shows_a_bad_token(bad_tokens, "ipv4:10.0.0.1:1")


def test_so_many_hosts_are_remembered() -> None:
    """The one that was not heard of for longest is forgotten."""
    bad_tokens = BadTokens(1, 1, VirtualClock(), lambda token: False)
    peers = [f"ipv4:10.{number >> 8}.{number & 255}.1:1" for number in range(10_001)]
    assert all(shows_a_bad_token(bad_tokens, peer) for peer in peers)
    assert not shows_a_bad_token(bad_tokens, peers[1])
    assert shows_a_bad_token(bad_tokens, peers[0])


@pytest.mark.parametrize(
    ("peer", "host"),
    [
        ("ipv4:10.1.2.3:55", "10.1.2.3"),
        ("ipv6:[2001:db8:1:2:3:4:5:6]:55", "2001:db8:1:2::/64"),
        ("ipv6:%5B2001:db8:1:2:7::8%5D:55", "2001:db8:1:2::/64"),
        ("ipv6:[::ffff:10.1.2.3]:55", "10.1.2.3"),
        ("ipv6:[fe80::1%eth0]:55", "fe80::/64"),
        ("unix:/run/okey.sock", "unix"),
        ("ipv4:nonsense", "ipv4"),
        ("", ""),
    ],
)
def test_the_host_of_a_peer(peer: str, host: str) -> None:
    """An IPv6 address is its owner's whole network; an IPv4 one may be written as one."""
    assert host_of_peer(peer) == host

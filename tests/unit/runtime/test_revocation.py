"""The list of revoked tokens in one process: whom it refuses, and which streams it ends."""

import asyncio
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import pytest

from okey_runtime.clock import VirtualClock
from okey_runtime.errors import Unauthenticated
from okey_runtime.identity import Identity, Role
from okey_runtime.revocation import (
    REVOCATIONS,
    Revocation,
    Revocations,
    SessionReplaced,
    TokenExpired,
    TokenRevoked,
)

HOUR_MS = 3_600_000


@pytest.fixture
def clock() -> VirtualClock:
    return VirtualClock()


@pytest.fixture
def revocations(clock: VirtualClock) -> Revocations:
    return Revocations(clock)


def caller(
    clock: VirtualClock,
    subject: str = "ayse",
    *,
    role: Role = Role.PLAYER,
    issued_ms: int | None = None,
    token_id: str = "t-1",
    ttl_ms: int = HOUR_MS,
) -> Identity:
    now_ms = clock.now_ms()
    issued_ms = now_ms if issued_ms is None else issued_ms
    return Identity(subject, frozenset({role}), "", now_ms + ttl_ms, issued_ms, token_id)


def of_player(
    clock: VirtualClock, player: str, before_ms: int, is_replaced: bool = False
) -> Revocation:
    ends_ms = clock.now_ms() + HOUR_MS
    return Revocation(ends_ms, player, before_ms, is_replaced=is_replaced)


def test_a_players_tokens_issued_before_the_moment_are_refused(
    clock: VirtualClock, revocations: Revocations
) -> None:
    moment_ms = clock.now_ms() - 5_000
    revocations.take([of_player(clock, "ayse", moment_ms)])
    for issued_ms in (0, moment_ms - 1):
        with pytest.raises(TokenRevoked):
            revocations.refuse_ended(caller(clock, issued_ms=issued_ms))
    for good in (
        caller(clock, issued_ms=moment_ms),
        caller(clock, "mehmet", issued_ms=0),
        caller(clock, issued_ms=0, role=Role.OPERATOR),
    ):
        assert revocations.ended(good) is None


def test_one_token_is_refused_whatever_its_roles(
    clock: VirtualClock, revocations: Revocations
) -> None:
    revocations.take([Revocation(clock.now_ms() + HOUR_MS, token_id="t-1")])
    for role in Role:
        assert isinstance(revocations.ended(caller(clock, "x", role=role)), TokenRevoked)
    assert revocations.ended(caller(clock, token_id="t-2")) is None
    assert revocations.ended(caller(clock, token_id="")) is None


def test_a_player_whose_id_is_a_tokens_is_somebody_else(
    clock: VirtualClock, revocations: Revocations
) -> None:
    revocations.take([Revocation(clock.now_ms() + HOUR_MS, token_id="ayse")])
    assert revocations.ended(caller(clock, "ayse")) is None


def test_a_replaced_session_has_a_reason_of_its_own(
    clock: VirtualClock, revocations: Revocations
) -> None:
    revocations.take([of_player(clock, "ayse", clock.now_ms(), is_replaced=True)])
    refused = revocations.refusal(caller(clock, issued_ms=0))
    assert isinstance(refused, SessionReplaced)


def test_an_entry_takes_the_place_of_an_older_one(
    clock: VirtualClock, revocations: Revocations
) -> None:
    now_ms = clock.now_ms()
    revocations.take([of_player(clock, "ayse", now_ms - 9), of_player(clock, "ayse", now_ms)])
    assert len(revocations) == 1
    assert revocations.refusal(caller(clock, issued_ms=now_ms - 1)) is not None


async def test_an_older_entry_that_comes_later_takes_nothing_back(
    clock: VirtualClock, revocations: Revocations
) -> None:
    now_ms = clock.now_ms()
    newest = Revocation(now_ms + HOUR_MS, "ayse", now_ms)
    revocations.take([newest, Revocation(now_ms + HOUR_MS - 9, "ayse", now_ms - 9)])
    assert revocations.refusal(caller(clock, issued_ms=now_ms - 1)) is not None
    long_lived = Revocation(now_ms + 2 * HOUR_MS, token_id="t-2")
    revocations.take([long_lived, Revocation(now_ms + HOUR_MS, token_id="t-2")])
    clock.advance_ms(HOUR_MS)
    revocations.heard()
    assert isinstance(revocations.refusal(caller(clock, token_id="t-2")), TokenRevoked)


def test_entries_are_dropped_once_their_tokens_have_expired(
    clock: VirtualClock, revocations: Revocations
) -> None:
    revocations.take(
        [Revocation(clock.now_ms() + 1_000, token_id="t-1"), of_player(clock, "ayse", 1)]
    )
    revocations.heard()
    assert REVOCATIONS._value.get() == 2
    clock.advance_ms(1_000)
    revocations.heard()
    assert (len(revocations), REVOCATIONS._value.get()) == (1, 1)
    revocations.take([Revocation(clock.now_ms(), token_id="over")])
    assert len(revocations) == 1


def test_the_lists_age_is_counted_from_the_start_until_it_is_heard(
    clock: VirtualClock, revocations: Revocations
) -> None:
    clock.advance_ms(7_000)
    assert revocations.age_ms == 7_000
    revocations.heard()
    assert revocations.age_ms == 0


@contextmanager
def stream(revocations: Revocations, identity: Identity) -> Iterator[list[Unauthenticated]]:
    """Why the stream was ended, as often as it was."""
    ends: list[Unauthenticated] = []
    with revocations.until_end(identity, ends.append):
        yield ends


async def test_streams_of_the_revoked_tokens_end_and_no_other(
    clock: VirtualClock, revocations: Revocations
) -> None:
    old, new = caller(clock, issued_ms=1), caller(clock, token_id="t-2")
    other = caller(clock, "mehmet", token_id="t-3", issued_ms=1)
    with ExitStack() as open_streams:
        ends = [
            open_streams.enter_context(stream(revocations, each)) for each in (old, old, new, other)
        ]
        revocations.take([of_player(clock, "ayse", clock.now_ms())])
        assert [[type(why) for why in each] for each in ends] == [
            [TokenRevoked],
            [TokenRevoked],
            [],
            [],
        ]
        revocations.take([Revocation(clock.now_ms() + HOUR_MS, token_id="t-3")])
        assert [len(each) for each in ends] == [1, 1, 0, 1]


async def test_a_stream_is_ended_once(clock: VirtualClock, revocations: Revocations) -> None:
    with stream(revocations, caller(clock, issued_ms=1)) as ends:
        for token_id in ("", "t-1"):
            entry = (
                Revocation(clock.now_ms() + HOUR_MS, token_id=token_id)
                if token_id
                else of_player(clock, "ayse", clock.now_ms())
            )
            revocations.take([entry])
    assert len(ends) == 1


async def test_a_stream_that_begins_with_a_revoked_token_ends_at_once(
    clock: VirtualClock, revocations: Revocations
) -> None:
    revocations.take([Revocation(clock.now_ms() + HOUR_MS, token_id="t-1")])
    with stream(revocations, caller(clock)) as ends:
        assert [type(why) for why in ends] == [TokenRevoked]


async def test_a_stream_ends_when_its_token_expires(
    clock: VirtualClock, revocations: Revocations
) -> None:
    over = asyncio.Event()
    why: list[Unauthenticated] = []

    def end(reason: Unauthenticated) -> None:
        why.append(reason)
        over.set()

    with revocations.until_end(caller(clock, ttl_ms=0), end):
        async with asyncio.timeout(10):
            await over.wait()
    assert [type(each) for each in why] == [TokenExpired]


async def test_a_stream_that_is_over_is_forgotten(
    clock: VirtualClock, revocations: Revocations
) -> None:
    with stream(revocations, caller(clock, issued_ms=1)) as ends:
        pass
    revocations.take([of_player(clock, "ayse", clock.now_ms())])
    assert ends == []
    assert not revocations._streams

"""The list of revoked tokens and players' sessions, on every database."""

import asyncio

import pytest
from sqlalchemy import func, select

from okey.errors import Exhausted
from okey_runtime.clock import VirtualClock
from okey_runtime.database import Database
from okey_runtime.errors import InvalidField
from okey_runtime.identity import Identity, Role
from okey_runtime.revocation import Revocation, Revocations, SessionReplaced, TokenRevoked
from okey_runtime.revocation_feed import RevocationFeed
from services.engine import revocations
from services.engine.revocations import RevocationList, RevocationsFull, TokenLife
from services.engine.schema import sessions as sessions_table
from services.engine.sessions import Sessions

DAY_MS = 86_400_000
SKEW_MS = 30_000
LIFE = TokenLife(DAY_MS, SKEW_MS)


class World:
    """An engine's process on the database, with a clock that is turned by hand."""

    def __init__(self, database: Database, clock: VirtualClock | None = None) -> None:
        self.database = database
        self.clock = clock or VirtualClock()
        self.known = Revocations(self.clock)
        self.list = RevocationList(database, self.known, LIFE, self.clock)
        self.sessions = Sessions(database, self.known, LIFE, self.clock)
        self.feed = RevocationFeed(self.known, self.list.follow, 1_000, self.clock)

    def beside(self) -> "World":
        """Another engine of the same database."""
        return World(self.database, self.clock)

    def token(
        self, ago_ms: int = 0, sid: str = "", jti: str = "", player: str = "ayse"
    ) -> Identity:
        issued_ms = self.clock.now_ms() - ago_ms
        ends_ms = issued_ms + DAY_MS
        player_role = frozenset({Role.PLAYER})
        return Identity(player, player_role, "", ends_ms, issued_ms, jti or f"t-{ago_ms}", sid)

    async def stored(self) -> list[Revocation]:
        return list((await self.list.after(0)).entries)


@pytest.fixture
def world(engine_database: Database) -> World:
    return World(engine_database)


async def test_what_is_revoked_holds_here_at_once_and_elsewhere_once_it_is_read(
    world: World,
) -> None:
    other, identity = world.beside(), world.token(ago_ms=1)
    noted = await world.list.revoke_player("ayse")
    assert noted.changed
    assert noted.entry.until_ms == world.clock.now_ms() + DAY_MS + SKEW_MS
    assert isinstance(world.known.refusal(identity), TokenRevoked)
    assert other.known.refusal(identity) is None
    await other.feed.catch_up()
    assert isinstance(other.known.refusal(identity), TokenRevoked)


async def test_the_same_again_changes_nothing_and_a_later_moment_reaches_further(
    world: World,
) -> None:
    moment_ms = world.clock.now_ms() - 5_000
    first = await world.list.revoke_player("ayse", moment_ms)
    for before_ms in (moment_ms, moment_ms - 1):
        again = await world.list.revoke_player("ayse", before_ms)
        assert (again.changed, again.entry) == (False, first.entry)
    later = await world.list.revoke_player("ayse")
    assert later.changed
    assert await world.stored() == [later.entry]


async def test_a_token_is_revoked_for_as_long_as_it_could_live(world: World) -> None:
    now_ms = world.clock.now_ms()
    first = await world.list.revoke_token("t-1")
    assert (first.changed, first.entry.until_ms) == (True, now_ms + DAY_MS + SKEW_MS)
    assert not (await world.list.revoke_token("t-1", now_ms + 1_000)).changed
    longer = await world.list.revoke_token("t-1", now_ms + 30 * DAY_MS)
    assert (longer.changed, longer.entry.until_ms) == (True, now_ms + 30 * DAY_MS + SKEW_MS)
    over = await world.list.revoke_token("t-2", now_ms - SKEW_MS)
    assert not over.changed
    assert [each.token_id for each in await world.stored()] == ["t-1"]


async def test_a_moment_in_the_future_is_refused_and_changes_nothing(world: World) -> None:
    """Else a slip of the pen would lock the player out until then."""
    future_ms = world.clock.now_ms() + SKEW_MS + 1
    with pytest.raises(InvalidField, match=f"{future_ms}, and now is {world.clock.now_ms()}"):
        await world.list.revoke_player("ayse", future_ms)
    assert await world.stored() == []
    assert (await world.list.revoke_player("ayse", future_ms - 1)).changed


async def test_entries_whose_tokens_have_expired_are_deleted(world: World) -> None:
    await world.list.revoke_player("ayse")
    world.clock.advance_ms(60_000)
    await world.list.revoke_player("mehmet")
    world.clock.advance_ms(DAY_MS + SKEW_MS - 60_000)
    await world.feed.catch_up()
    assert [each.player for each in await world.stored()] == ["mehmet"]
    assert len(world.known) == 1


async def test_followers_read_page_by_page_and_only_what_is_new(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(revocations, "PAGE", 2)
    for number in range(5):
        await world.list.revoke_token(f"t-{number}")
    other = world.beside()
    await other.feed.catch_up()
    assert len(other.known) == 5
    before = await world.list.after(0)
    newest = await world.list.after(before.newest)
    assert (newest.entries, newest.cursor) == ([], before.newest)
    await world.list.revoke_token("t-0", world.clock.now_ms() + 9 * DAY_MS)
    [moved] = (await world.list.after(before.newest)).entries
    assert moved.token_id == "t-0", "an entry that changed is new again"


async def test_a_full_list_takes_no_more_but_what_reaches_further(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(revocations, "MOST", 2)
    for player in ("ayse", "mehmet"):
        await world.list.revoke_player(player, world.clock.now_ms() - 1)
    with pytest.raises(RevocationsFull, match="JWKS") as refused:
        await world.list.revoke_player("zoe")
    assert isinstance(refused.value, Exhausted)
    assert (await world.list.revoke_player("ayse")).changed
    assert {each.player for each in await world.stored()} == {"ayse", "mehmet"}


async def test_sessions_leave_operators_their_places(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nor does a newer session take the place of an operator's entry, once theirs are used up."""
    monkeypatch.setattr(revocations, "MOST", 4)
    monkeypatch.setattr(revocations, "MOST_REPLACED", 2)
    await world.list.revoke_player("zoe", world.clock.now_ms() - 50_000)
    for player in ("ayse", "mehmet", "can", "zoe"):
        for ago_ms in (9_000, 1_000):
            await world.sessions.enter(world.token(ago_ms=ago_ms, player=player))
    stored = {each.player: each.is_replaced for each in await world.stored()}
    assert stored == {"zoe": False, "ayse": True, "mehmet": True}
    assert (await world.list.revoke_player("eda")).changed
    assert (await world.list.revoke_player("ayse")).changed
    with pytest.raises(RevocationsFull):
        await world.list.revoke_player("fatma")


async def test_many_at_once_are_all_found_by_whoever_follows(world: World) -> None:
    """Positions become visible in their order, so a cursor passes over nothing."""
    other = world.beside()

    async def follow() -> None:
        while len(other.known) < 40:
            await other.feed.catch_up()

    async with asyncio.timeout(60), asyncio.TaskGroup() as group:
        group.create_task(follow())
        for number in range(40):
            group.create_task(world.list.revoke_token(f"t-{number}"))


async def test_a_newer_session_ends_the_older_one_everywhere(world: World) -> None:
    other = world.beside()
    old, new = world.token(ago_ms=60_000), world.token(ago_ms=1_000)
    await world.sessions.enter(old)
    assert await world.stored() == []
    await world.sessions.enter(new)
    assert isinstance(world.known.refusal(old), SessionReplaced)
    assert world.known.refusal(new) is None
    with pytest.raises(SessionReplaced):
        await other.sessions.enter(old)
    await other.feed.catch_up()
    assert isinstance(other.known.refusal(old), SessionReplaced)
    assert other.known.refusal(new) is None


async def test_tokens_of_one_session_replace_none_in_either_order(world: World) -> None:
    tokens = [world.token(ago_ms=ago_ms, sid="s-1") for ago_ms in (9_000, 1_000, 5_000)]
    for token in tokens:
        await world.sessions.enter(token)
    assert await world.stored() == []


async def test_the_same_token_again_asks_no_database(world: World) -> None:
    token = world.token()
    await world.sessions.enter(token)
    await world.database.close()
    await world.sessions.enter(token)


async def test_two_sessions_of_one_second_both_stay(world: World) -> None:
    for jti in ("a", "b", "a"):
        await world.sessions.enter(world.token(jti=jti))
    assert await world.stored() == []


async def test_sessions_of_others_are_left_alone(world: World) -> None:
    await world.sessions.enter(world.token(ago_ms=9_000))
    await world.sessions.enter(world.token(ago_ms=1_000, player="mehmet"))
    nobody = Identity("ayse", frozenset({Role.INTEGRATOR}), "", 1, world.clock.now_ms())
    await world.sessions.enter(nobody)
    assert await world.stored() == []


async def test_a_session_whose_tokens_have_expired_is_replaced_without_an_entry(
    world: World,
) -> None:
    await world.sessions.enter(world.token())
    world.clock.advance_ms(DAY_MS + SKEW_MS)
    await world.sessions.enter(world.token(jti="next"))
    assert await world.stored() == []


async def test_sessions_that_are_over_are_deleted(world: World) -> None:
    await world.sessions.enter(world.token())
    world.clock.advance_ms(DAY_MS + SKEW_MS)
    await world.sessions.enter(world.token(player="mehmet"))
    count = select(func.count()).select_from(sessions_table)
    assert await world.database.read(lambda c: c.execute(count).scalar()) == 1


async def test_a_database_that_is_away_keeps_nobody_from_playing(world: World) -> None:
    await world.database.close()
    await world.sessions.enter(world.token())


async def test_of_sessions_that_come_at_once_the_newest_stays(world: World) -> None:
    engines = [world, world.beside(), world.beside()]
    tokens = [world.token(ago_ms=ago_ms) for ago_ms in (9_000, 5_000, 1_000)]
    entered = await asyncio.gather(
        *(one.sessions.enter(token) for one, token in zip(engines, tokens, strict=True)),
        return_exceptions=True,
    )
    assert all(each is None or isinstance(each, SessionReplaced) for each in entered)
    await world.feed.catch_up()
    # In either order both older ones are out: by an entry, or refused as they came.
    for token, came in zip(tokens[:2], entered[:2], strict=True):
        assert came is not None or isinstance(world.known.refusal(token), SessionReplaced)
    assert world.known.refusal(tokens[2]) is None
    assert entered[2] is None

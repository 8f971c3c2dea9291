"""What every rating database does: each match and forfeit once, in turn for every player."""

import asyncio
from base64 import urlsafe_b64encode
from dataclasses import replace
from itertools import pairwise

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import Connection

from okey.rating import (
    CanakWon,
    ChangeKind,
    Drawn,
    HouseWon,
    KlasikWon,
    Ladder,
    Outcome,
    Sink,
    Standing,
    Voided,
)
from okey.rules.rule_set import RuleSet
from okey.rules.variant import Mode, Variant
from okey_runtime.database import Database
from services.rating import schema
from services.rating.counting import Board
from services.rating.place import NotRanked, PageStart, PageTokenMalformed, Place
from services.rating.record import (
    ForfeitContradicted,
    ForfeitRecordedDifferently,
    MatchRecord,
    MatchRecordedDifferently,
    SinkAmount,
)
from services.rating.rulebook import RuleBook
from services.rating.section import Section
from services.rating.store import RatingStore
from tests.contract.rating_play import (
    START,
    TABLE,
    a_forfeit,
    a_match,
    database,
    database_url,
    store,
)

__all__ = ["database", "database_url", "store"]


async def milli_of(store: RatingStore, player: str) -> dict[Ladder, int]:
    """The player's ratings that differ from the starting one."""
    standings = await store.ratings_of(player)
    return {
        ladder: standing.rating_milli
        for ladder, standing in standings.items()
        if standing.rated_matches
    }


class TestMatches:
    async def test_a_match_counts_on_its_variants_ladder_and_overall(
        self, store: RatingStore
    ) -> None:
        """R1: each ladder has its own rating and count."""
        await store.record_match(a_match(1, "ada", "bo"))
        klasik = a_match(2, "ada", "bo", variant=Variant.KLASIK, outcome=KlasikWon(0, (5, 0)))
        await store.record_match(klasik)
        assert await store.ratings_of("ada") == {
            Ladder.CANAK: Standing(1_210_000, 1),
            # R7: the second meeting of a day counts half, on both ladders.
            Ladder.KLASIK: Standing(1_205_000, 1),
            Ladder.OVERALL: Standing(1_214_712, 2),
        }

    async def test_the_same_match_again_changes_nothing_and_answers_the_same(
        self, store: RatingStore
    ) -> None:
        first = await store.record_match(a_match(1, "ada", "bo"))
        assert [change.delta_milli for change in first.changes] == [10_000, -10_000] * 2
        assert await store.record_match(a_match(1, "ada", "bo")) == first
        assert (await store.ratings_of("ada"))[Ladder.OVERALL] == Standing(1_210_000, 1)

    @pytest.mark.parametrize(
        "other",
        [
            a_match(1, "ada", "bo", outcome=CanakWon(1)),
            a_match(1, "bo", "ada"),
            replace(a_match(1, "ada", "bo"), ended_ms=7),
        ],
        ids=["winner", "seats", "time"],
    )
    async def test_another_content_of_a_recorded_match_is_refused(
        self, store: RatingStore, other: MatchRecord
    ) -> None:
        await store.record_match(a_match(1, "ada", "bo"))
        with pytest.raises(MatchRecordedDifferently, match="the first one stands"):
            await store.record_match(other)
        assert await milli_of(store, "bo") == {Ladder.CANAK: 1_190_000, Ladder.OVERALL: 1_190_000}

    @pytest.mark.parametrize("outcome", [Drawn(), HouseWon(), Voided()], ids=repr)
    async def test_an_unrated_match_changes_nobody_and_is_recorded(
        self, store: RatingStore, outcome: Outcome
    ) -> None:
        """R4, M10: a second report of another outcome is refused all the same."""
        recorded = await store.record_match(a_match(1, "ada", "bo", outcome=outcome))
        assert (recorded.changes, recorded.sinks) == ((), ())
        assert await store.ratings_of("ada") == dict.fromkeys(Ladder, START)
        with pytest.raises(MatchRecordedDifferently):
            await store.record_match(a_match(1, "ada", "bo"))

    async def test_one_match_sent_many_times_at_once_counts_once(self, store: RatingStore) -> None:
        answers = await asyncio.gather(
            *(store.record_match(a_match(1, "ada", "bo")) for _ in range(8))
        )
        assert all(answer == answers[0] for answer in answers)
        assert (await store.ratings_of("bo"))[Ladder.OVERALL] == Standing(1_190_000, 1)

    async def test_other_players_of_one_match_at_once_are_refused(self, store: RatingStore) -> None:
        """They share no row of a player; one of them is recorded, whoever it is."""
        answers = await asyncio.gather(
            *(store.record_match(a_match(1, f"ada{n}", f"bo{n}")) for n in range(6)),
            return_exceptions=True,
        )
        refused = [each for each in answers if isinstance(each, MatchRecordedDifferently)]
        assert len(refused) == 5

    async def test_a_match_and_the_forfeit_of_somebody_else_never_both_count(
        self, store: RatingStore
    ) -> None:
        for number in range(1, 6):
            answers = await asyncio.gather(
                store.record_forfeit(a_forfeit(number, "zoe")),
                store.record_match(a_match(number, "ada", "bo")),
                return_exceptions=True,
            )
            refused = [each for each in answers if isinstance(each, ForfeitContradicted)]
            assert len(refused) == 1

    async def test_matches_of_the_same_players_at_once_never_use_a_stale_rating(
        self, store: RatingStore
    ) -> None:
        """R1: every change starts from the rating that the one before left; all sums to zero."""
        players = ["ada", "bo", "cem", "dua"]
        seatings = [
            (players[n % 4], players[(n + 1 + n // 4 % 3) % 4]) for n in range(24)
        ]  # in both orders, so that locking in seat order would deadlock
        await asyncio.gather(
            *(store.record_match(a_match(n, *pair)) for n, pair in enumerate(seatings, 1))
        )
        ends = []
        for player in players:
            page = await store.history_of(Ladder.OVERALL, player, None, 100)
            chain = page.changes[::-1]
            assert chain[0].rating_before_milli == START.rating_milli
            for one, following in pairwise(chain):
                assert following.rating_before_milli == one.rating_before_milli + one.delta_milli
                assert following.rated_matches == one.rated_matches + 1
            ends.append(chain[-1].rating_before_milli + chain[-1].delta_milli)
        assert sum(ends) == 4 * START.rating_milli


class TestForfeits:
    async def test_giving_up_costs_twenty_at_once_and_once(self, store: RatingStore) -> None:
        """R5: on both ladders, into the sink."""
        first = await store.record_forfeit(a_forfeit(1, "bo"))
        assert await store.record_forfeit(a_forfeit(1, "bo")) == first
        assert await milli_of(store, "bo") == {Ladder.CANAK: 1_180_000, Ladder.OVERALL: 1_180_000}
        assert {change.kind for change in first.changes} == {ChangeKind.FORFEIT}
        assert await store.sink_totals() == [
            SinkAmount(ladder, Sink.FORFEITS, 20_000) for ladder in (Ladder.CANAK, Ladder.OVERALL)
        ]

    async def test_one_forfeit_sent_many_times_at_once_counts_once(
        self, store: RatingStore
    ) -> None:
        await asyncio.gather(*(store.record_forfeit(a_forfeit(1, "bo")) for _ in range(8)))
        assert (await store.ratings_of("bo"))[Ladder.CANAK] == Standing(1_180_000, 1)

    async def test_two_forfeits_of_one_player_in_two_matches_both_count(
        self, store: RatingStore
    ) -> None:
        """R5: once a match."""
        await asyncio.gather(*(store.record_forfeit(a_forfeit(n, "bo")) for n in (1, 2)))
        assert (await store.ratings_of("bo"))[Ladder.CANAK] == Standing(1_160_000, 2)

    async def test_a_forfeit_costs_the_same_at_the_bottom(self, store: RatingStore) -> None:
        """R5, R1: 70 times in a row, to below zero; there is no floor."""
        for number in range(1, 71):
            taken = await store.record_forfeit(a_forfeit(number, "bo"))
            assert [change.delta_milli for change in taken.changes] == [-20_000, -20_000]
        assert (await store.ratings_of("bo"))[Ladder.CANAK] == Standing(-200_000, 70)
        rank = await store.rank(Ladder.CANAK, "bo")
        assert (rank.entry.rank, rank.players) == (1, 1)

    async def test_a_forfeit_in_solo_costs_the_same(self, store: RatingStore) -> None:
        """R5: everywhere; the match's end changes nobody (R4)."""
        await store.record_forfeit(a_forfeit(1, "bo", seat=0))
        recorded = await store.record_match(
            a_match(1, "bo", None, mode=Mode.SOLO, outcome=HouseWon(), quitters=("bo",))
        )
        assert recorded.changes == ()
        assert (await store.ratings_of("bo"))[Ladder.CANAK] == Standing(1_180_000, 1)

    async def test_the_opponent_of_two_gets_what_a_win_before_the_forfeit_would_have_brought(
        self, store: RatingStore
    ) -> None:
        """R5: though the quitter has given up another match since."""
        await store.record_forfeit(a_forfeit(1, "bo"))
        await store.record_forfeit(a_forfeit(2, "bo"))
        recorded = await store.record_match(
            a_match(1, "ada", "bo", outcome=HouseWon(), quitters=("bo",))
        )
        assert [(c.player_id, c.kind, c.delta_milli) for c in recorded.changes] == [
            ("ada", ChangeKind.COMPENSATION, 10_000)
        ] * 2
        assert recorded.sinks == tuple(
            SinkAmount(ladder, Sink.FORFEITS, -10_000) for ladder in (Ladder.CANAK, Ladder.OVERALL)
        )

    async def test_ratings_and_sink_always_sum_to_what_players_started_with(
        self, store: RatingStore
    ) -> None:
        """R5: inflation is visible in the sink, to the milli-point."""
        await store.record_match(a_match(1, "ada", "bo"))
        await store.record_forfeit(a_forfeit(2, "bo"))
        await store.record_match(a_match(2, "ada", "bo", quitters=("bo",)))
        await store.record_match(a_match(3, "ada", "bo", "cem", "dua", quitters=("cem",)))
        standings = await store.ratings_on(Ladder.OVERALL, ["ada", "bo", "cem", "dua"])
        sink = {total.ladder: total.amount_milli for total in await store.sink_totals()}
        drift = sum(standing.rating_milli - START.rating_milli for standing in standings)
        assert drift == -sink[Ladder.OVERALL] < 0

    async def test_a_match_records_the_forfeits_that_it_names_first(
        self, store: RatingStore
    ) -> None:
        """R5: a forfeit reported after its match still counts once."""
        await store.record_match(a_match(1, "ada", "bo", quitters=("bo",)))
        assert await milli_of(store, "bo") == {Ladder.CANAK: 1_180_000, Ladder.OVERALL: 1_180_000}
        late = await store.record_forfeit(a_forfeit(1, "bo"))
        assert [change.delta_milli for change in late.changes] == [-20_000, -20_000]
        assert (await store.ratings_of("bo"))[Ladder.CANAK] == Standing(1_180_000, 1)

    async def test_a_match_that_forgets_a_recorded_forfeit_is_refused(
        self, store: RatingStore
    ) -> None:
        await store.record_forfeit(a_forfeit(1, "bo"))
        with pytest.raises(ForfeitContradicted, match=r"\['bo'\] gave up"):
            await store.record_match(a_match(1, "ada", "bo"))
        assert await milli_of(store, "ada") == {}

    async def test_a_forfeit_after_a_match_without_it_is_refused(self, store: RatingStore) -> None:
        await store.record_match(a_match(1, "ada", "bo"))
        with pytest.raises(ForfeitContradicted, match="recorded without a forfeit of 'bo'"):
            await store.record_forfeit(a_forfeit(1, "bo"))
        assert (await milli_of(store, "bo"))[Ladder.CANAK] == 1_190_000

    async def test_a_forfeit_of_another_seat_or_variant_is_refused(
        self, store: RatingStore
    ) -> None:
        await store.record_forfeit(a_forfeit(1, "bo"))
        with pytest.raises(ForfeitRecordedDifferently, match="seat or variant"):
            await store.record_forfeit(a_forfeit(1, "bo", seat=0))
        with pytest.raises(ForfeitRecordedDifferently):
            await store.record_forfeit(a_forfeit(1, "bo", variant=Variant.KLASIK))
        with pytest.raises(ForfeitRecordedDifferently):
            await store.record_match(a_match(1, "bo", "ada", quitters=("bo",)))


class TestHistory:
    async def test_history_comes_newest_first_in_pages(self, store: RatingStore) -> None:
        for number in range(1, 6):
            await store.record_match(a_match(number, "ada", "bo"))
        first = await store.history_of(Ladder.CANAK, "ada", None, 2)
        second = await store.history_of(Ladder.CANAK, "ada", first.next_before, 2)
        third = await store.history_of(Ladder.CANAK, "ada", second.next_before, 2)
        pages = [first, second, third]
        assert [[c.rated_matches for c in page.changes] for page in pages] == [[5, 4], [3, 2], [1]]
        assert third.next_before is None
        (oldest,) = third.changes
        assert (oldest.match_id, oldest.occurred_ms) == (f"{TABLE}-1", 1_000_001)

    async def test_who_never_played_has_no_history(self, store: RatingStore) -> None:
        page = await store.history_of(Ladder.CANAK, "nobody", None, 2)
        assert (page.changes, page.next_before) == ((), None)


class TestLeaderboard:
    @pytest.fixture
    def store(self, database: Database) -> RatingStore:
        """Everyone is established after the first match, to keep the boards short."""
        return RatingStore(database, RuleBook(RuleSet(rating_new_matches=1)))

    async def fill(self, store: RatingStore) -> None:
        """Three winners at 1210, three losers at 1190."""
        for number, pair in enumerate([("a", "f"), ("C", "e"), ("b", "d")], 1):
            await store.record_match(a_match(number, *pair))

    async def test_pages_follow_each_other_and_equals_share_a_rank(
        self, store: RatingStore
    ) -> None:
        """Equal ratings stand in the order of the ids' bytes, on every database."""
        await self.fill(store)
        first = await store.page(Ladder.CANAK, Section.ESTABLISHED, None, 4)
        assert first.next_place is not None
        second = await store.page(Ladder.CANAK, Section.ESTABLISHED, first.next_place, 4)
        ranked = [(entry.rank, entry.player_id) for entry in first.entries + second.entries]
        assert ranked == [(1, "C"), (1, "a"), (1, "b"), (4, "d"), (4, "e"), (4, "f")]
        assert second.next_place is None

    async def test_a_page_around_a_player_has_it_in_the_middle(self, store: RatingStore) -> None:
        await self.fill(store)
        page = await store.page_around(Ladder.CANAK, "d", 3)
        assert [(entry.rank, entry.player_id) for entry in page.entries] == [
            (1, "b"),
            (4, "d"),
            (4, "e"),
        ]
        assert page.next_place == Place(1_190_000, "e")
        even = await store.page_around(Ladder.CANAK, "d", 4)
        assert [entry.player_id for entry in even.entries] == ["b", "d", "e", "f"]
        assert even.next_place is None
        top = await store.page_around(Ladder.CANAK, "C", 3)
        assert [entry.player_id for entry in top.entries] == ["C", "a", "b"]

    async def test_rank_counts_those_above_and_all_in_the_section(self, store: RatingStore) -> None:
        await self.fill(store)
        rank = await store.rank(Ladder.CANAK, "e")
        assert (rank.entry.rank, rank.players, rank.section) == (4, 6, Section.ESTABLISHED)

    async def test_provisional_players_stand_apart(self, database: Database) -> None:
        """R1: until the rated match that ends the first K."""
        store = RatingStore(database, RuleBook(RuleSet(rating_new_matches=2)))
        await store.record_match(a_match(1, "ada", "bo"))
        await store.record_match(a_match(2, "ada", "cem"))
        established = await store.page(Ladder.CANAK, Section.ESTABLISHED, None, 9)
        provisional = await store.page(Ladder.CANAK, Section.PROVISIONAL, None, 9)
        assert [entry.player_id for entry in established.entries] == ["ada"]
        assert [entry.player_id for entry in provisional.entries] == ["cem", "bo"]

    async def test_who_has_no_rated_match_is_on_no_board(self, store: RatingStore) -> None:
        await store.record_match(a_match(1, "ada", "bo", outcome=Drawn()))
        for section in (Section.ESTABLISHED, Section.PROVISIONAL):
            page = await store.page(Ladder.CANAK, section, None, 9)
            assert (page.entries, page.next_place) == ((), None)
        with pytest.raises(NotRanked, match="'ada' has no rated match on ladder CANAK"):
            await store.rank(Ladder.CANAK, "ada")
        with pytest.raises(NotRanked, match="'nobody'"):
            await store.page_around(Ladder.CANAK, "nobody", 3)

    @pytest.mark.parametrize("section", [Section.ESTABLISHED, Section.PROVISIONAL])
    def test_a_page_token_gives_its_start_back(self, section: Section) -> None:
        start = PageStart(Board(7, Ladder.OVERALL), section, Place(-1_210_000, "p" * 64))
        assert PageStart.of_token(start.token()) == start
        assert len(start.token()) <= 200

    @pytest.mark.parametrize("token", ["?", "bnVsbA==", "WzEsMl0=", "WzFd", "e30="])
    def test_a_made_up_page_token_is_refused(self, token: str) -> None:
        with pytest.raises(PageTokenMalformed, match="send next_page_token"):
            PageStart.of_token(token)

    @pytest.mark.parametrize(
        "start",
        [
            '1,1,1,true,"ada"',
            '1,1,1,1,""',
            '1,1,1,1,"\\u0000"',
            '1,1,1,1,"\\ud800"',
            '1,1,1,1e3,"ada"',
            '1,1,1,1,"ada bo"',
            "1,1,1,1,1",
            f'1,1,1,{2**62},"ada"',
            '0,1,1,1,"ada"',
            f'{2**31},1,1,1,"ada"',
            '1,9,1,1,"ada"',
            '1,1,0,1,"ada"',
            '1,1,9,1,"ada"',
            '1,"ada"',
        ],
    )
    def test_a_page_token_of_what_no_start_is_is_refused(self, start: str) -> None:
        """What the database could not be asked for never gets there."""
        with pytest.raises(PageTokenMalformed, match="send next_page_token"):
            PageStart.of_token(urlsafe_b64encode(f"[{start}]".encode()).decode())


async def test_the_migrations_make_the_schema_that_queries_use(database: Database) -> None:
    def difference(connection: Connection) -> object:
        return compare_metadata(MigrationContext.configure(connection), schema.metadata)

    assert await database.read(difference) == []

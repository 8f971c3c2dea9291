"""Seasons and their boards, over gRPC."""

import grpc
import pytest

from okey.api.rating.v1 import rating_pb2
from okey_runtime.errors import from_rpc_error
from okey_runtime.identity import Role
from tests.integration.rating.calls import TABLE, StubOf, a_forfeit, a_match


async def test_an_operator_starts_a_season_and_boards_of_both_are_read(stub_of: StubOf) -> None:
    """The season's first match resets softly before it counts; the answers name their season."""
    engine, player, operator = (stub_of(role) for role in (Role.ENGINE, Role.PLAYER, Role.OPERATOR))
    await engine.RecordMatch(a_match())
    request = rating_pb2.StartSeasonRequest(season=2, name="spring", keep_percent=0)
    started = (await operator.StartSeason(request)).season
    assert (started.season, started.name, started.keep_percent) == (2, "spring", 0)
    assert (started.towards_milli, started.started_by) == (1_200_000, "caller")
    assert (await operator.StartSeason(request)).season == started
    recorded = await engine.RecordMatch(a_match(match_id=f"{TABLE}-2"))
    kinds = [(c.kind, c.delta_milli, c.season) for c in recorded.changes if c.player_id == "ada"]
    reset, match = rating_pb2.CHANGE_KIND_SEASON_RESET, rating_pb2.CHANGE_KIND_MATCH
    assert kinds == [(reset, -10_000, 2), (match, 5_000, 2)] * 2  # R7 knows no seasons
    # Both reset together, so the sink's part is nothing.
    assert list(recorded.sinks) == []
    board = rating_pb2.ListLeaderboardRequest(
        ladder=rating_pb2.LADDER_CANAK, section=rating_pb2.SECTION_PROVISIONAL
    )
    newest = await player.ListLeaderboard(board)
    board.season = 1
    first = await player.ListLeaderboard(board)
    assert (newest.season, first.season) == (2, 1)
    assert [e.rating.rated_matches for e in newest.entries] == [2, 2]
    assert [e.rating.rated_matches for e in first.entries] == [1, 1]
    rank = await player.GetRank(
        rating_pb2.GetRankRequest(player_id="bo", ladder=rating_pb2.LADDER_CANAK, season=1)
    )
    assert (rank.season, rank.entry.rank, rank.players) == (1, 2, 2)
    seasons = (await player.ListSeasons(rating_pb2.ListSeasonsRequest())).seasons
    assert [(s.season, s.ended_ms > 0) for s in seasons] == [(2, False), (1, True)]


async def test_a_walk_stays_in_its_section_and_season(stub_of: StubOf) -> None:
    """After a page around a player, and over a season's start; another board is refused."""
    engine, player, operator = (stub_of(role) for role in (Role.ENGINE, Role.PLAYER, Role.OPERATOR))
    await engine.RecordMatch(a_match())
    around = await player.ListLeaderboard(
        rating_pb2.ListLeaderboardRequest(
            ladder=rating_pb2.LADDER_CANAK, around_player_id="ada", page_size=1
        )
    )
    assert (around.section, around.season) == (rating_pb2.SECTION_PROVISIONAL, 1)
    await operator.StartSeason(rating_pb2.StartSeasonRequest(season=2))
    request = rating_pb2.ListLeaderboardRequest(
        ladder=rating_pb2.LADDER_CANAK, page_token=around.next_page_token
    )
    following = await player.ListLeaderboard(request)
    assert (following.section, following.season) == (rating_pb2.SECTION_PROVISIONAL, 1)
    assert [entry.rating.player_id for entry in following.entries] == ["bo"]
    request.season, request.section = 1, rating_pb2.SECTION_PROVISIONAL
    assert await player.ListLeaderboard(request) == following
    for other in (
        rating_pb2.ListLeaderboardRequest(season=2),
        rating_pb2.ListLeaderboardRequest(section=rating_pb2.SECTION_ESTABLISHED),
        rating_pb2.ListLeaderboardRequest(ladder=rating_pb2.LADDER_OVERALL),
    ):
        elsewhere = rating_pb2.ListLeaderboardRequest()
        elsewhere.CopyFrom(request)
        elsewhere.MergeFrom(other)
        with pytest.raises(grpc.aio.AioRpcError) as refused:
            await player.ListLeaderboard(elsewhere)
        failure = from_rpc_error(refused.value)
        assert failure.code is grpc.StatusCode.INVALID_ARGUMENT
        assert failure.reason == "PAGE_TOKEN_OF_ANOTHER_BOARD"
        assert "ladder CANAK, section PROVISIONAL, season 1" in failure.message


async def test_half_is_kept_unless_an_operator_says_otherwise(stub_of: StubOf) -> None:
    """0 % is another wish than none."""
    operator = stub_of(Role.OPERATOR)
    half = await operator.StartSeason(rating_pb2.StartSeasonRequest(season=2))
    none = await operator.StartSeason(rating_pb2.StartSeasonRequest(season=3, keep_percent=0))
    assert (half.season.keep_percent, none.season.keep_percent) == (50, 0)


@pytest.mark.parametrize(
    ("request_", "code", "reason"),
    [
        (
            rating_pb2.StartSeasonRequest(season=4),
            grpc.StatusCode.FAILED_PRECONDITION,
            "SEASON_OUT_OF_ORDER",
        ),
        (
            rating_pb2.StartSeasonRequest(season=2, name="autumn"),
            grpc.StatusCode.ALREADY_EXISTS,
            "SEASON_STARTED_DIFFERENTLY",
        ),
        (
            rating_pb2.StartSeasonRequest(season=1),
            grpc.StatusCode.INVALID_ARGUMENT,
            "INVALID_FIELD",
        ),
    ],
)
async def test_a_season_that_cannot_start_is_refused_by_name(
    stub_of: StubOf, request_: rating_pb2.StartSeasonRequest, code: grpc.StatusCode, reason: str
) -> None:
    operator = stub_of(Role.OPERATOR)
    await operator.StartSeason(rating_pb2.StartSeasonRequest(season=2))
    with pytest.raises(grpc.aio.AioRpcError) as refused:
        await operator.StartSeason(request_)
    failure = from_rpc_error(refused.value)
    assert (failure.code, failure.reason) == (code, reason)


@pytest.mark.parametrize("text", ["\x00", "spring\n", "\x1b[31mred", "\x85"])
async def test_control_characters_are_refused_by_the_field_that_has_them(
    stub_of: StubOf, text: str
) -> None:
    """Neither a terminal nor a database meets them; other letters pass."""
    engine, operator = stub_of(Role.ENGINE), stub_of(Role.OPERATOR)
    match, forfeit = a_match(), a_forfeit()
    match.rules_version = forfeit.rules_version = text
    for call, field in (
        (operator.StartSeason(rating_pb2.StartSeasonRequest(season=2, name=text)), "name"),
        (engine.RecordMatch(match), "rules_version"),
        (engine.RecordForfeit(forfeit), "rules_version"),
    ):
        with pytest.raises(grpc.aio.AioRpcError) as refused:
            await call
        failure = from_rpc_error(refused.value)
        assert (failure.code, failure.reason) == (
            grpc.StatusCode.INVALID_ARGUMENT,
            "INVALID_FIELD",
        )
        assert field in failure.message
    named = rating_pb2.StartSeasonRequest(season=2, name="İlkbahar – 春 🌷")
    assert (await operator.StartSeason(named)).season.name == named.name


async def test_a_season_that_never_was_has_no_board(stub_of: StubOf) -> None:
    request = rating_pb2.GetRankRequest(player_id="ada", ladder=rating_pb2.LADDER_CANAK, season=5)
    with pytest.raises(grpc.aio.AioRpcError) as refused:
        await stub_of(Role.PLAYER).GetRank(request)
    assert from_rpc_error(refused.value).reason == "SEASON_UNKNOWN"

"""RatingService as its callers meet it: over gRPC, with tokens, on a fresh database."""

from collections.abc import Callable
from enum import IntEnum
from pathlib import Path

import grpc
import pytest
from google.protobuf.descriptor import EnumDescriptor

from okey.api.common.v1 import common_pb2
from okey.api.rating.v1 import rating_pb2
from okey.rating import ChangeKind, Departure, Ladder
from okey.rules.rule_set import DEFAULT_RULE_SET
from okey.rules.variant import Mode, Variant
from okey_runtime.clock import VirtualClock
from okey_runtime.config import Environment
from okey_runtime.errors import from_rpc_error
from okey_runtime.identity import Role
from okey_runtime.server import ServiceServer
from services.rating.app import DatabaseUrlMissing, RatingApp
from services.rating.difference import DifferenceKind
from services.rating.section import Section
from services.rating.settings import RatingSettings
from tests.fixtures.issuer import Issuer
from tests.integration.rating.calls import MATCH, TABLE, StubOf, a_forfeit, a_match


async def test_a_match_is_rated_and_read_back(stub_of: StubOf) -> None:
    engine, player = stub_of(Role.ENGINE), stub_of(Role.PLAYER)
    recorded = await engine.RecordMatch(a_match())
    assert [(c.player_id, c.delta_milli) for c in recorded.changes] == [
        ("ada", 10_000),
        ("bo", -10_000),
    ] * 2
    one = await player.GetRating(rating_pb2.GetRatingRequest(player_id="ada"))
    assert [(r.ladder, r.rating_milli, r.rated_matches) for r in one.ratings] == [
        (rating_pb2.LADDER_CANAK, 1_210_000, 1),
        (rating_pb2.LADDER_KLASIK, 1_200_000, 0),
        (rating_pb2.LADDER_OVERALL, 1_210_000, 1),
    ]
    many = await player.GetRatings(
        rating_pb2.GetRatingsRequest(
            player_ids=["bo", "nobody", "ada"], ladder=rating_pb2.LADDER_CANAK
        )
    )
    assert [(r.player_id, r.rating_milli, r.is_provisional) for r in many.ratings] == [
        ("bo", 1_190_000, True),
        ("nobody", 1_200_000, True),
        ("ada", 1_210_000, True),
    ]


async def test_a_forfeit_costs_at_once_and_its_sink_is_seen(stub_of: StubOf) -> None:
    """R5: the opponent is compensated at the match's end."""
    engine, operator = stub_of(Role.ENGINE), stub_of(Role.OPERATOR)
    taken = await engine.RecordForfeit(a_forfeit())
    assert [c.delta_milli for c in taken.changes] == [-20_000, -20_000]
    ended = await engine.RecordMatch(
        a_match(
            winner=1,
            seats=[
                rating_pb2.MatchSeat(player_id="ada"),
                rating_pb2.MatchSeat(player_id="bo", departure=rating_pb2.DEPARTURE_FORFEITED),
            ],
        )
    )
    assert {(c.player_id, c.kind) for c in ended.changes} == {
        ("ada", rating_pb2.CHANGE_KIND_COMPENSATION)
    }
    totals = (await operator.ListSinks(rating_pb2.ListSinksRequest())).totals
    assert [(t.ladder, t.sink, t.amount_milli) for t in totals] == [
        (rating_pb2.LADDER_CANAK, rating_pb2.SINK_FORFEITS, 10_000),
        (rating_pb2.LADDER_OVERALL, rating_pb2.SINK_FORFEITS, 10_000),
    ]


@pytest.mark.parametrize(
    "result",
    [
        rating_pb2.MatchResult(klasik_win=rating_pb2.KlasikWin(remaining_points=[4, -1])),
        rating_pb2.MatchResult(draw=rating_pb2.MatchDraw()),
        rating_pb2.MatchResult(house_win=rating_pb2.HouseWin()),
        rating_pb2.MatchResult(voided=rating_pb2.MatchVoid()),
    ],
    ids=["klasik_win", "draw", "house_win", "voided"],
)
async def test_every_way_a_match_ends_can_be_told(
    stub_of: StubOf, result: rating_pb2.MatchResult
) -> None:
    """R2, R4: only a person's win changes anyone."""
    request = a_match()
    request.variant = common_pb2.VARIANT_KLASIK
    request.result.CopyFrom(result)
    changes = (await stub_of(Role.ENGINE).RecordMatch(request)).changes
    assert len(changes) == (4 if result.HasField("klasik_win") else 0)


async def test_a_voided_match_of_two_compensates_nobody(stub_of: StubOf) -> None:
    """R4, M10: the forfeit stands, and the match brings its opponent nothing."""
    engine, operator = stub_of(Role.ENGINE), stub_of(Role.OPERATOR)
    await engine.RecordForfeit(a_forfeit())
    request = a_match(
        seats=[
            rating_pb2.MatchSeat(player_id="ada"),
            rating_pb2.MatchSeat(player_id="bo", departure=rating_pb2.DEPARTURE_FORFEITED),
        ]
    )
    request.result.CopyFrom(rating_pb2.MatchResult(voided=rating_pb2.MatchVoid()))
    recorded = await engine.RecordMatch(request)
    assert (list(recorded.changes), list(recorded.sinks)) == ([], [])
    totals = (await operator.ListSinks(rating_pb2.ListSinksRequest())).totals
    assert {total.amount_milli for total in totals} == {20_000}


async def test_history_and_board_are_paged_by_their_tokens(stub_of: StubOf) -> None:
    engine, player = stub_of(Role.ENGINE), stub_of(Role.PLAYER)
    for number in range(1, 4):
        await engine.RecordMatch(a_match(match_id=f"{TABLE}-{number}"))
    newest = await player.ListHistory(
        rating_pb2.ListHistoryRequest(player_id="ada", ladder=rating_pb2.LADDER_CANAK, page_size=2)
    )
    oldest = await player.ListHistory(
        rating_pb2.ListHistoryRequest(
            player_id="ada",
            ladder=rating_pb2.LADDER_CANAK,
            page_size=2,
            page_token=newest.next_page_token,
        )
    )
    assert [c.match_id[-1] for c in [*newest.changes, *oldest.changes]] == ["3", "2", "1"]
    assert oldest.next_page_token == ""
    board = rating_pb2.ListLeaderboardRequest(
        ladder=rating_pb2.LADDER_CANAK, section=rating_pb2.SECTION_PROVISIONAL, page_size=1
    )
    first = await player.ListLeaderboard(board)
    board.page_token = first.next_page_token
    second = await player.ListLeaderboard(board)
    ranked = [(e.rank, e.rating.player_id) for e in [*first.entries, *second.entries]]
    assert ranked == [(1, "ada"), (2, "bo")]
    assert second.next_page_token == ""
    board.around_player_id = "bo"
    assert [e.rating.player_id for e in (await player.ListLeaderboard(board)).entries] == ["bo"]
    rank = await player.GetRank(
        rating_pb2.GetRankRequest(player_id="bo", ladder=rating_pb2.LADDER_CANAK)
    )
    assert (rank.entry.rank, rank.players, rank.section) == (2, 2, rating_pb2.SECTION_PROVISIONAL)


async def test_the_board_is_the_established_one_unless_said(stub_of: StubOf) -> None:
    """R1: provisional players stand apart."""
    await stub_of(Role.ENGINE).RecordMatch(a_match())
    board = await stub_of(Role.LOBBY).ListLeaderboard(
        rating_pb2.ListLeaderboardRequest(ladder=rating_pb2.LADDER_CANAK)
    )
    assert (list(board.entries), board.section) == ([], rating_pb2.SECTION_ESTABLISHED)


@pytest.mark.parametrize("role", sorted(set(Role) - {Role.ENGINE}))
async def test_only_the_engine_records(stub_of: StubOf, role: Role) -> None:
    stub = stub_of(role)
    for call in (stub.RecordMatch(a_match()), stub.RecordForfeit(a_forfeit())):
        with pytest.raises(grpc.aio.AioRpcError) as refused:
            await call
        assert refused.value.code() is grpc.StatusCode.PERMISSION_DENIED


def _seat_only_the_house(request: rating_pb2.RecordMatchRequest) -> None:
    for seat in request.seats:
        seat.house = True


@pytest.mark.parametrize(
    ("change", "code", "reason", "names"),
    [
        (
            lambda request: request.seats.add(player_id="cem"),
            grpc.StatusCode.INVALID_ARGUMENT,
            "INVALID_FIELD",
            "2 or 4 seats",
        ),
        (
            lambda request: setattr(request, "match_id", f"{'b' * 26}-1"),
            grpc.StatusCode.INVALID_ARGUMENT,
            "INVALID_FIELD",
            "match_id",
        ),
        (
            lambda request: request.seats[1].MergeFrom(
                rating_pb2.MatchSeat(house=True, departure=rating_pb2.DEPARTURE_FORFEITED)
            ),
            grpc.StatusCode.INVALID_ARGUMENT,
            "INVALID_FIELD",
            "no player",
        ),
        (
            lambda request: setattr(request.seats[1], "player_id", "ada"),
            grpc.StatusCode.INVALID_ARGUMENT,
            "CONTRADICTORY_MATCH",
            "two seats",
        ),
        (
            lambda request: [
                seat.MergeFrom(rating_pb2.MatchSeat(house=True)) for seat in request.seats
            ],
            grpc.StatusCode.INVALID_ARGUMENT,
            "CONTRADICTORY_MATCH",
            "no people",
        ),
        (
            lambda request: setattr(request.result.canak_win, "winner_seat", 1),
            grpc.StatusCode.ALREADY_EXISTS,
            "MATCH_RECORDED_DIFFERENTLY",
            MATCH,
        ),
    ],
    ids=["three seats", "other table", "house gives up", "twice", "nobody", "recorded"],
)
async def test_a_report_that_cannot_be_is_refused_by_name(
    stub_of: StubOf,
    change: Callable[[rating_pb2.RecordMatchRequest], object],
    code: grpc.StatusCode,
    reason: str,
    names: str,
) -> None:
    engine = stub_of(Role.ENGINE)
    await engine.RecordMatch(a_match())
    request = a_match()
    change(request)
    with pytest.raises(grpc.aio.AioRpcError) as refused:
        await engine.RecordMatch(request)
    failure = from_rpc_error(refused.value)
    assert (failure.code, failure.reason) == (code, reason)
    assert names in failure.message


async def test_a_made_up_history_token_is_refused(stub_of: StubOf) -> None:
    request = rating_pb2.ListHistoryRequest(
        player_id="ada", ladder=rating_pb2.LADDER_CANAK, page_token="-1"
    )
    with pytest.raises(grpc.aio.AioRpcError) as refused:
        await stub_of(Role.PLAYER).ListHistory(request)
    assert from_rpc_error(refused.value).reason == "PAGE_TOKEN_MALFORMED"


async def test_without_a_database_it_does_not_start(tmp_path: Path) -> None:
    issuer = Issuer(tmp_path)
    settings = RatingSettings(environment=Environment.TEST, jwks_file=issuer.jwks_file)
    with pytest.raises(DatabaseUrlMissing, match="OKEY_DATABASE_URL"):
        async with ServiceServer(RatingApp(settings), VirtualClock()):
            pass


@pytest.mark.parametrize(
    ("words", "protocol"),
    [
        (Ladder, rating_pb2.Ladder.DESCRIPTOR),
        (ChangeKind, rating_pb2.ChangeKind.DESCRIPTOR),
        (Departure, rating_pb2.Departure.DESCRIPTOR),
        (Section, rating_pb2.Section.DESCRIPTOR),
        (DifferenceKind, rating_pb2.DifferenceKind.DESCRIPTOR),
        (Variant, common_pb2.Variant.DESCRIPTOR),
        (Mode, common_pb2.Mode.DESCRIPTOR),
    ],
)
def test_words_and_protocol_have_the_same_numbers(
    words: type[IntEnum], protocol: EnumDescriptor
) -> None:
    """But for what only releases before this one say."""
    numbers = {
        value.name: value.number for value in protocol.values if not value.GetOptions().deprecated
    }
    prefixes = {name.removesuffix("UNSPECIFIED") for name, number in numbers.items() if not number}
    (prefix,) = prefixes
    named = {name.removeprefix(prefix): number for name, number in numbers.items() if number}
    assert named == {word.name: word.value for word in words if word.value}


async def test_unknown_rules_are_no_last_word(stub_of: StubOf) -> None:
    """The engine repeats an UNAVAILABLE report until a service that knows the rules takes it."""
    request = a_match()
    request.rules_version = "2031.01"
    with pytest.raises(grpc.aio.AioRpcError) as refused:
        await stub_of(Role.ENGINE).RecordMatch(request)
    failure = from_rpc_error(refused.value)
    assert (failure.code, failure.reason) == (
        grpc.StatusCode.UNAVAILABLE,
        "RATING_RULES_UNKNOWN",
    )
    request.rules_version = DEFAULT_RULE_SET.version
    assert len((await stub_of(Role.ENGINE).RecordMatch(request)).changes) == 4
    request.rules_version = ""
    assert len((await stub_of(Role.ENGINE).RecordMatch(request)).changes) == 4


async def test_a_rebuild_is_told_as_it_goes_on(stub_of: StubOf) -> None:
    """Progress, then the summary; nothing differs."""
    await stub_of(Role.ENGINE).RecordMatch(a_match())
    operator = stub_of(Role.OPERATOR)
    request = rating_pb2.RebuildRatingsRequest()
    messages = [each async for each in operator.RebuildRatings(request)]
    assert {each.WhichOneof("message") for each in messages[:-1]} == {"progress"}
    summary = messages[-1].summary
    assert (summary.records, summary.changes, summary.ratings) == (1, 4, 4)
    assert (summary.differences, summary.mended) == (0, 0)
    with pytest.raises(grpc.aio.AioRpcError) as refused:
        async for _ in stub_of(Role.PLAYER).RebuildRatings(request):
            pass
    assert refused.value.code() is grpc.StatusCode.PERMISSION_DENIED

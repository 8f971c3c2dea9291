"""The outbox: each sink is told in order, until its answer is definite, whatever crashes."""

import asyncio
from itertools import islice
from pathlib import Path

import grpc
import pytest
from google.protobuf.message import Message
from prometheus_client import REGISTRY

from okey.api.common.v1 import common_pb2
from okey.api.rating.v1 import rating_pb2
from okey.api.wallet.v1 import wallet_pb2
from okey.rules.finish import FinishKind
from okey.rules.rule_set import DEFAULT_RULE_SET
from okey.table import commands as c
from okey.table import events as e
from okey.table.errors import TableIsClosed
from okey.table.reasons import Departure, OutcomeKind
from okey.table.state import Phase, SeatStatus, TableState
from okey.table.view import SPECTATOR, view
from okey_runtime.backoff import FIRST_WAIT_S, LAST_WAIT_S, waits_s
from okey_runtime.validation import check_message
from services.engine.rating_sink import RatingSink
from services.engine.record import Row
from services.engine.relay import Answer, Relay
from services.engine.wallet_sink import WalletSink
from tests.factories import TABLE_ID, opened
from tests.unit.engine.doubles import AWAY, declined
from tests.unit.engine.world import World, until, world_in


def key_of(call: Message) -> str:
    key: str = getattr(call, "idempotency_key", "")
    return key


async def test_the_wallet_is_told_in_order_and_its_answers_move_the_table(tmp_path: Path) -> None:
    """M1, M2: two holds, then the start with both; the deal waits for its answer."""
    async with world_in(tmp_path) as world:
        actor = await world.dealt()
        script = world.wallet.script
        assert script.names == ["HoldStake", "HoldStake", "StartMatch"]
        first, second, start = script.calls
        assert isinstance(first, wallet_pb2.HoldStakeRequest)
        assert isinstance(second, wallet_pb2.HoldStakeRequest)
        assert isinstance(start, wallet_pb2.StartMatchRequest)
        assert first.match_id == start.match_id == f"{actor.table_id}-1"
        assert [seat.hold_id for seat in start.seats] == [first.hold_id, second.hold_id]
        assert len({key_of(call) for call in script.calls}) == 3


async def test_a_start_that_waits_for_the_wallet_can_be_seen(tmp_path: Path) -> None:
    """M2, W2: the deal waits where everybody sees it, and follows the answer."""
    async with world_in(tmp_path) as world:
        actor = await world.open()
        await actor.submit(c.TakeSeat("bert"), world.request("bert"))
        await until(actor, lambda state: state.phase is Phase.COUNTDOWN)
        world.wallet.script.always = AWAY
        await world.ring(actor, c.TimerKind.COUNTDOWN)
        await world.wallet.script.until(lambda script: script.names.count("StartMatch") >= 2)
        assert actor.table.phase is Phase.STARTING
        assert view(actor.table, SPECTATOR).phase is Phase.STARTING
        world.wallet.script.always = None
        await until(actor, lambda state: state.phase is Phase.PLAYING)


async def test_a_settlement_that_waits_for_the_wallet_can_be_seen(tmp_path: Path) -> None:
    """Ç8: what comes after the match waits where everybody sees it."""
    async with world_in(tmp_path) as world:
        actor = await world.dealt()
        world.wallet.script.always = AWAY
        for quitter in ("anna", "bert"):
            await actor.submit(c.Forfeit(quitter), world.request(quitter))
        assert actor.table.phase is Phase.SETTLING
        world.wallet.script.always = None
        await until(actor, lambda state: state.phase is Phase.CLOSED)


async def test_how_long_the_oldest_row_has_waited_is_a_metric_of_each_sink(
    tmp_path: Path,
) -> None:
    """M5: a relay that stands still is seen, over a restart of the engine too."""
    async with world_in(tmp_path) as world:
        assert waiting_s("wallet") == 0
        world.wallet.script.always = AWAY
        actor = await world.open()
        await world.wallet.script.until(lambda script: len(script.calls) >= 1)
        world.clock.advance_ms(40_000)
        assert waiting_s("wallet") == 40
        assert waiting_s("rating") == 0
        await world.crash()
        world.clock.advance_ms(5_000)
        await world.boot()
        assert waiting_s("wallet") == 45
        world.wallet.script.always = None
        again = await world.tables.get(actor.table_id)
        await until(again, lambda state: state.seats[0].status is SeatStatus.PAID)
        await until_told(world, actor.table_id)
        assert waiting_s("wallet") == 0


class BrokenSink:
    """A sink with a bug of its own."""

    name = "broken"

    def calls(self, before: TableState | None, after: TableState, row: Row) -> list[Message]:
        return [wallet_pb2.CloseTableRequest()]

    async def deliver(self, call: Message) -> Answer:
        raise LookupError("as the test says")


async def test_a_relay_that_has_died_is_seen_by_how_long_its_rows_wait(tmp_path: Path) -> None:
    """Its task is gone, the rows stand, and the age that the alert watches grows."""
    async with world_in(tmp_path) as world:
        actor = await world.open()
        relay = Relay(BrokenSink(), world.journal, world.clock, lambda _: None, lambda: True)
        relay.push(actor, None, actor.table, Row(1, world.clock.now_ms(), ()))
        await until(actor, lambda state: state.seats[0].status is SeatStatus.PAID)
        world.clock.advance_ms(60_000)
        assert relay.oldest_waiting_s() == waiting_s("broken") == 60
        relay.forget(actor.table_id)
        assert waiting_s("broken") == 0


async def test_a_table_that_is_let_go_waits_no_more(tmp_path: Path) -> None:
    async with world_in(tmp_path) as world:
        world.wallet.script.always = AWAY
        await world.open()
        await world.wallet.script.until(lambda script: len(script.calls) >= 1)
        world.clock.advance_ms(1_000)
        assert waiting_s("wallet") == 1
        await world.crash()
        assert waiting_s("wallet") == 0


def test_waits_grow_to_the_cap_and_no_two_tables_wait_alike() -> None:
    """Each wait is between a half and the whole of its step."""
    steps_s = [min(FIRST_WAIT_S * 2**number, LAST_WAIT_S) for number in range(40)]
    found = list(islice(waits_s(), 40))
    for step_s, wait_s in zip(steps_s, found, strict=True):
        assert step_s / 2 <= wait_s <= step_s
    assert max(found) <= LAST_WAIT_S
    assert len(set(found[10:])) > 1


async def until_told(world: World, table_id: str) -> None:
    """Return once the wallet's cursor of the table has moved and the relay has noticed."""
    async with asyncio.timeout(10):
        while "wallet" not in await world.journal.cursors(table_id) or waiting_s("wallet"):
            pass


def waiting_s(sink: str) -> float:
    """What a scrape reads."""
    labels = {"sink": sink}
    found = REGISTRY.get_sample_value("okey_engine_relay_oldest_waiting_seconds", labels)
    assert found is not None
    return found


async def test_an_uncertain_call_is_repeated_with_the_same_key(tmp_path: Path) -> None:
    """M5: UNAVAILABLE says nothing, so the same key is sent until something is said."""
    async with world_in(tmp_path) as world:
        world.wallet.script.plan = [AWAY, AWAY, None]
        actor = await world.open()
        await until(actor, lambda state: state.seats[0].status is SeatStatus.PAID)
        calls = world.wallet.script.calls
        assert world.wallet.script.names == ["HoldStake"] * 3
        assert calls[0] == calls[1] == calls[2]


async def test_a_declined_stake_frees_the_seat_and_a_new_try_has_a_new_key(tmp_path: Path) -> None:
    """M2, M5: a decline is final for its key and holds up nobody else."""
    async with world_in(tmp_path) as world:
        actor = await world.open()
        await until(actor, lambda state: state.seats[0].status is SeatStatus.PAID)
        world.wallet.script.plan = [declined("INSUFFICIENT_FUNDS")]
        await actor.submit(c.TakeSeat("bert"), world.request("bert"))
        await until(actor, lambda state: state.seats[1].status is SeatStatus.FREE)
        assert actor.table.seats[0].status is SeatStatus.PAID
        await actor.submit(c.TakeSeat("bert"), world.request("bert"))
        await until(actor, lambda state: state.seats[1].status is SeatStatus.PAID)
        assert len({key_of(call) for call in world.wallet.script.calls}) == 3


async def test_a_declined_start_frees_the_seats_whose_holds_are_void(tmp_path: Path) -> None:
    """M2: who cannot pay holds up nobody else's chips."""
    async with world_in(tmp_path) as world:
        actor = await world.open()
        await actor.submit(c.TakeSeat("bert"), world.request("bert"))
        await until(actor, lambda state: state.phase is Phase.COUNTDOWN)
        void = actor.table.seats[1].hold_id
        world.wallet.script.plan = [declined("HOLDS_MISSING", hold_ids=void)]
        await world.ring(actor, c.TimerKind.COUNTDOWN)
        await until(actor, lambda state: state.phase is Phase.WAITING)
        assert [seat.player for seat in actor.table.seats] == ["anna", ""]


async def test_a_crash_before_the_cursor_moved_repeats_the_call_with_its_key(
    tmp_path: Path,
) -> None:
    """M5: whatever crashes, the wallet sees one key, and the table one answer."""
    async with world_in(tmp_path) as world:
        world.wallet.script.always = AWAY
        actor = await world.open()
        await world.wallet.script.until(lambda script: len(script.calls) >= 1)
        await world.crash()
        before = len(world.wallet.script.calls)
        world.wallet.script.always = None
        await world.boot()
        again = await world.tables.get(actor.table_id)
        await until(again, lambda state: state.seats[0].status is SeatStatus.PAID)
        assert len(world.wallet.script.calls) > before
        assert len({key_of(call) for call in world.wallet.script.calls}) == 1


async def test_a_sink_that_is_away_does_not_hold_up_the_other(tmp_path: Path) -> None:
    """The rating service is down: the wallet is told, the match goes on."""
    async with world_in(tmp_path) as world:
        world.rating.script.always = AWAY
        actor = await world.dealt()
        for quitter in ("anna", "bert"):
            await actor.submit(c.Forfeit(quitter), world.request(quitter))
        await world.wallet.script.until(lambda script: script.names[-1] == "CloseTable")
        told = ["ForfeitSeat", "ForfeitSeat", "SettleMatch", "CloseTable"]
        assert world.wallet.script.names[3:] == told
        await world.rating.script.until(lambda script: len(script.calls) >= 2)
        assert set(world.rating.script.names) == {"RecordForfeit"}
        world.rating.script.always = None
        await world.rating.script.until(lambda script: script.names[-1] == "RecordMatch")


async def test_ratings_learn_who_gave_up_and_how_it_ended(tmp_path: Path) -> None:
    """R5, M8, M9: when nobody is left the house wins; ratings learn every seat."""
    async with world_in(tmp_path) as world:
        actor = await world.dealt()
        for quitter in ("bert", "anna"):
            await actor.submit(c.Forfeit(quitter), world.request(quitter))
        await world.rating.script.until(lambda script: len(script.calls) == 3)
        first, second, match = world.rating.script.calls
        assert isinstance(first, rating_pb2.RecordForfeitRequest)
        assert isinstance(second, rating_pb2.RecordForfeitRequest)
        assert isinstance(match, rating_pb2.RecordMatchRequest)
        assert [(each.seat, each.player_id) for each in (first, second)] == [
            (1, "bert"),
            (0, "anna"),
        ]
        assert match.result.WhichOneof("result") == "house_win"
        forfeited = rating_pb2.DEPARTURE_FORFEITED
        assert [seat.departure for seat in match.seats] == [forfeited, forfeited]
        versions = {each.rules_version for each in (first, second, match)}
        assert versions == {DEFAULT_RULE_SET.version}


async def test_a_closed_table_is_retired_once_the_sinks_know_all(tmp_path: Path) -> None:
    """Ç10: the last one leaves, the stake goes back, the table closes and is done with."""
    async with world_in(tmp_path) as world:
        actor = await world.open()
        await until(actor, lambda state: state.seats[0].status is SeatStatus.PAID)
        asked = world.request("anna", "leave")
        left = await actor.submit(c.LeaveSeat("anna"), asked)
        await retired(world)
        told = ["HoldStake", "VoidHold", "CloseTable"]
        assert world.wallet.script.names == told
        assert await world.tables.get(actor.table_id) is actor, "kept for who still looks"
        await world.crash()
        await world.boot()
        assert world.tables.live() == []
        assert await world.journal.seated_at("anna") == ""
        again = await world.tables.get(actor.table_id)
        assert again.table == actor.table
        assert await again.submit(c.LeaveSeat("anna"), asked) == left
        with pytest.raises(TableIsClosed):
            await again.submit(c.TakeSeat("bert"), world.request("bert"))
        assert world.wallet.script.names == told


async def test_a_crash_after_the_last_answer_retires_the_table_at_the_next_start(
    tmp_path: Path,
) -> None:
    async with world_in(tmp_path) as world:
        actor = await world.open()
        await until(actor, lambda state: state.seats[0].status is SeatStatus.PAID)
        await actor.submit(c.LeaveSeat("anna"), world.request("anna"))
        await world.wallet.script.until(lambda script: script.names[-1] == "CloseTable")
        await world.crash()
        await world.boot()
        await retired(world)
        assert len({key_of(call) for call in world.wallet.script.calls}) == 3


async def retired(world: World) -> None:
    """Return when no table has anything left to do."""
    async with asyncio.timeout(10):
        while await world.journal.unretired("", 1):
            pass


async def test_a_voided_match_is_told_to_both(tmp_path: Path) -> None:
    """M10: every stake back, unrated."""
    async with world_in(tmp_path) as world:
        actor = await world.dealt()
        await actor.submit(c.VoidMatch("op", "broken"), world.request("op"))
        await world.wallet.script.until(lambda script: script.names[-1] == "VoidMatch")
        await world.rating.script.until(lambda script: len(script.calls) == 1)
        (told,) = world.rating.script.calls
        assert isinstance(told, rating_pb2.RecordMatchRequest)
        assert told.result.WhichOneof("result") == "voided"


@pytest.mark.parametrize("kind", list(OutcomeKind))
async def test_the_wallet_is_told_how_a_match_ended(kind: OutcomeKind) -> None:
    """M4: the wallet is told how a match ended, never an amount."""
    is_win = kind is OutcomeKind.CANAK_WIN
    ended = match_ended(kind, finish=FinishKind.CIFT_OKEY if is_win else None)
    table = opened().state
    async with grpc.aio.insecure_channel("127.0.0.1:1") as channel:
        (call,) = WalletSink(channel).calls(table, table, Row(9, 1, (ended,)))
        (rated,) = RatingSink(channel).calls(table, table, Row(9, 1, (ended,)))
    assert isinstance(call, wallet_pb2.SettleMatchRequest)
    assert call.outcome.WhichOneof("outcome") == kind.name.lower()
    if is_win:
        assert call.outcome.canak_win.finish == common_pb2.FINISH_KIND_CIFT_OKEY
    check_message(call)
    check_message(rated)


@pytest.mark.parametrize(
    ("departure", "told"),
    [
        (Departure.STAYED, rating_pb2.DEPARTURE_UNSPECIFIED),
        (Departure.FORFEITED, rating_pb2.DEPARTURE_FORFEITED),
        (Departure.EXCUSED, rating_pb2.DEPARTURE_EXCUSED),
    ],
)
async def test_ratings_are_told_who_gave_up_and_who_was_excused(
    departure: Departure, told: rating_pb2.Departure.ValueType
) -> None:
    """R5, U9: leaving costs its points where it was penalised, seat by seat."""
    ended = match_ended(OutcomeKind.CANAK_DRAW, departures=(Departure.STAYED, departure))
    table = opened().state
    async with grpc.aio.insecure_channel("127.0.0.1:1") as channel:
        (call,) = RatingSink(channel).calls(table, table, Row(9, 1, (ended,)))
    assert isinstance(call, rating_pb2.RecordMatchRequest)
    assert [seat.departure for seat in call.seats] == [rating_pb2.DEPARTURE_UNSPECIFIED, told]


def match_ended(
    kind: OutcomeKind,
    *,
    finish: FinishKind | None = None,
    departures: tuple[Departure, ...] = (Departure.STAYED,) * 2,
) -> e.MatchEnded:
    """The end of a match between two people."""
    return e.MatchEnded(
        match_id=f"{TABLE_ID}-1",
        kind=kind,
        winner=1,
        finish=finish,
        contending=(0, 1),
        is_tie_break=False,
        players=("anna", "bert"),
        departures=departures,
        points=(3, 4),
        kasa=0,
    )

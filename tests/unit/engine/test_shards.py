"""Which shard a table is of, and who should have which."""

import base64
import os
from collections import Counter

from services.engine.shards import SHARD_COUNT, Board, Member, Place, id_ranges, plan, shard_of

LEASE_MS = 6_000
NOW_MS = 100_000


def member(name: str, *, heard_ms: int = NOW_MS, is_taking: bool = True) -> Member:
    return Member(name, f"{name}:1", "run", 0, heard_ms, is_taking, frozenset({1}))


def board(members: list[Member], places: list[Place]) -> Board:
    return Board(NOW_MS, LEASE_MS, {each.engine: each for each in members}, tuple(places))


def test_a_tables_shard_is_fixed_for_good() -> None:
    """Written down, since stored tables are found by it."""
    known = {"2": 0, "22": 0, "25": 0, "26": 1, "32": 8, "a2": 48, "t" * 26: 206, "zz": 255}
    assert {table_id: shard_of(table_id.ljust(26, "2")) for table_id in known} == known


def test_every_shard_is_one_range_of_ids() -> None:
    letters = "0123456789abcdefghijklmnopqrstuvwxyz"
    ids = [(first + second).ljust(26, "a") for first in letters for second in letters]
    for shard in range(SHARD_COUNT):
        [(start, end)] = id_ranges([shard])
        inside = {table_id for table_id in ids if start <= table_id < end}
        assert inside == {table_id for table_id in ids if shard_of(table_id) == shard}
    assert id_ranges(range(SHARD_COUNT)) == [("", "~")]
    assert len(id_ranges([0, 1, 2, 9, 255])) == 3


def test_ids_spread_over_the_shards() -> None:
    made = (base64.b32encode(os.urandom(16)).decode()[:26].lower() for _ in range(25_600))
    spread = Counter(map(shard_of, made))
    assert len(spread) == SHARD_COUNT
    assert max(spread.values()) < 200


def test_everybody_gets_a_fair_share_with_as_few_moves_as_that_takes() -> None:
    a, b, c = member("a"), member("b"), member("c")
    before = [Place("a")] * 128 + [Place("b")] * 128
    planned = plan(board([a, b, c], before))
    assert Counter(planned) == {"a": 86, "b": 85, "c": 85}
    moved = [s for s, place in enumerate(before) if planned[s] != place.owner]
    assert len(moved) == 85
    assert plan(board([a, b, c], [Place(name) for name in planned])) == planned


def test_the_shards_of_the_dead_and_of_those_who_leave_go_to_the_others() -> None:
    a, b = member("a"), member("b")
    places = [Place("a")] * 100 + [Place("dead")] * 100 + [Place("leaves")] * 56
    dead, leaves = member("dead", heard_ms=NOW_MS - LEASE_MS), member("leaves", is_taking=False)
    planned = plan(board([a, b, dead, leaves], places))
    assert Counter(planned) == {"a": 128, "b": 128}
    assert planned[:100] == ("a",) * 100


def test_a_pinned_shard_stays_and_nobody_is_overfull_for_it() -> None:
    a, b = member("a"), member("b")
    places = [Place("a", is_pinned=True)] * 130 + [Place("b")] * 126
    assert plan(board([a, b], places)) == tuple(place.owner for place in places)
    planned = plan(board([a, b], [Place("a")] * 255 + [Place("a", is_pinned=True)]))
    assert planned[255] == "a"
    assert Counter(planned) == {"a": 128, "b": 128}


def test_where_nobody_takes_any_all_stay_where_they_are() -> None:
    places = [Place("leaves")] * SHARD_COUNT
    assert plan(board([member("leaves", is_taking=False)], places)) == ("leaves",) * SHARD_COUNT


def test_a_lease_written_before_the_databases_clock_was_set_back_has_ended() -> None:
    assert not board([member("a", heard_ms=NOW_MS + LEASE_MS)], []).is_alive("a")
    assert board([member("a", heard_ms=NOW_MS + 10)], []).is_alive("a")

"""One contract for requests that are sent again (docs/api.md), at every RPC that takes a key: the
same content gets the same answer, other content one refusal that names the key and what differs.

The RPCs are found by their requests' fields, so one that comes is missed here until it has a row.
"""

from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any, Final

import grpc
import pytest

from okey.api.common.v1 import common_pb2
from okey.api.engine.v1 import engine_pb2, engine_pb2_grpc, table_pb2
from okey.api.rating.v1 import rating_pb2, rating_pb2_grpc
from okey.api.wallet.v1 import wallet_pb2, wallet_pb2_grpc
from okey_runtime.errors import RpcFailure
from okey_runtime.idempotency import REUSED
from okey_runtime.identity import Role
from tests.integration.engine.platform import Platform, platform, refused
from tests.integration.rating import calls as rating

KEY: Final = "the-same-request"
TABLE: Final = "a" * 26
MATCH: Final = f"{TABLE}-1"
HOLD: Final = f"{MATCH}-0-1"

AT_A_TABLE: Final[Mapping[str, Mapping[str, Any]]] = {
    "TakeSeat": {"player": "anna", "seat": 1},
    "LeaveSeat": {},
    "AddNonce": {"nonce": b"\x01" * 32},
    "Act": {"turn": 1, "action": table_pb2.Action(draw_from_stock=table_pb2.DrawFromStock())},
    "Forfeit": {},
    "ClaimMatch": {},
    "ReturnToSeat": {},
    "PlayOn": {},
}
"""What else a request of each RPC needs, beside the table and the key."""

AT_THE_WALLET: Final[Mapping[str, Mapping[str, Any]]] = {
    "HoldStake": {
        "hold_id": f"{MATCH}-1-1",
        "table_id": TABLE,
        "match_id": MATCH,
        "player_id": "bo",
        "stake": 100,
        "rules_version": "2026.11",
    },
    "VoidHold": {"hold_id": HOLD},
    "StartMatch": {
        "table_id": TABLE,
        "match_id": MATCH,
        "variant": common_pb2.VARIANT_CANAK,
        "mode": common_pb2.MODE_NORMAL,
        "stake": 100,
        "rules_version": "2026.11",
        "seats": [wallet_pb2.StakedSeat(hold_id=HOLD), wallet_pb2.StakedSeat(house=True)],
    },
    "SettleMatch": {
        "match_id": MATCH,
        "outcome": wallet_pb2.MatchOutcome(house_win=wallet_pb2.HouseWin()),
    },
    "VoidMatch": {"match_id": MATCH},
    "ForfeitSeat": {"match_id": MATCH, "seat": 0},
    "CloseTable": {"table_id": TABLE},
    "GrantChips": {"player_id": "bo", "amount": 5, "reason": "a gift"},
    "ReverseJournal": {"journal_id": 1, "reason": "a mistake"},
}


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[Platform]:
    async with platform(tmp_path) as running:
        yield running


def keyed(service: Any, field: str) -> set[str]:
    """The service's RPCs whose requests have such a key."""
    return {method.name for method in service.methods if field in method.input_type.fields_by_name}


def check(failure: RpcFailure, key_name: str, key: str, differs: str) -> None:
    """The refusal says the same at every service, whatever its reason is called."""
    assert failure.code in (
        grpc.StatusCode.FAILED_PRECONDITION,
        grpc.StatusCode.ALREADY_EXISTS,
    ), failure
    assert failure.metadata == {
        "same_as": REUSED,
        "key_name": key_name,
        "key": key,
        "differs": differs,
    }
    for said in (key_name, key, *differs.split(",")):
        assert said in failure.message


def test_every_rpc_with_a_key_has_a_row() -> None:
    engine = engine_pb2.DESCRIPTOR.services_by_name["TableService"]
    wallet = wallet_pb2.DESCRIPTOR.services_by_name["WalletService"]
    assert keyed(engine, "request_id") == {"OpenTable", *AT_A_TABLE}
    assert keyed(wallet, "idempotency_key") == set(AT_THE_WALLET)


def opening(stake: int) -> engine_pb2.OpenTableRequest:
    return engine_pb2.OpenTableRequest(
        request_id=KEY, player="anna", seat_count=2, stake=stake, turn_timeout_ms=60_000
    )


async def test_the_engine(world: Platform) -> None:
    lobby, anna = await world.tables_as("lobby", Role.LOBBY), await world.tables_as("anna")
    opened = await lobby.OpenTable(opening(100))
    assert await lobby.OpenTable(opening(100)) == opened
    check(await refused(lobby.OpenTable(opening(200))), "request_id", KEY, "the content")
    for method, content in AT_A_TABLE.items():
        stub: engine_pb2_grpc.TableServiceStub = lobby if method == "TakeSeat" else anna
        request = message(engine_pb2, method, table_id=opened.table_id, request_id=KEY, **content)
        failure = await refused(getattr(stub, method)(request))
        assert failure.reason == REUSED, method
        check(failure, "request_id", KEY, "the content")
        assert "row 1 at this table (table_opened, seat_requested)" in failure.message


async def test_the_wallet(world: Platform) -> None:
    operator = await world.wallet()
    first = dict(AT_THE_WALLET["HoldStake"]) | {"hold_id": HOLD, "player_id": "ada"}
    as_engine = await world.channel("engine", Role.ENGINE, to="wallet")
    engine = wallet_pb2_grpc.WalletServiceStub(as_engine)
    hold = message(wallet_pb2, "HoldStake", idempotency_key=KEY, **first)
    assert await engine.HoldStake(hold) == await engine.HoldStake(hold)
    for method, content in AT_THE_WALLET.items():
        stub = operator if method in ("GrantChips", "ReverseJournal") else engine
        request = message(wallet_pb2, method, idempotency_key=KEY, **content)
        failure = await refused(getattr(stub, method)(request))
        assert failure.reason == "TRANSFER_ID_REUSED", method
        check(failure, "idempotency_key", KEY, "the content")
        assert "journal 2 (hold)" in failure.message


async def test_rating(world: Platform) -> None:
    """Its keys are the match and the season that a report is about."""
    channel = await world.channel("engine", Role.ENGINE, to="rating")
    engine = rating_pb2_grpc.RatingServiceStub(channel)
    assert await engine.RecordMatch(rating.a_match()) == await engine.RecordMatch(rating.a_match())
    failure = await refused(engine.RecordMatch(rating.a_match(winner=1)))
    check(failure, "match_id", rating.MATCH, "the content")
    forfeit = rating.a_forfeit()
    forfeit.match_id = f"{rating.TABLE}-2"
    assert await engine.RecordForfeit(forfeit) == await engine.RecordForfeit(forfeit)
    forfeit.seat = 0
    check(await refused(engine.RecordForfeit(forfeit)), "match_id", forfeit.match_id, "the content")
    operator = await world.rating()
    season = rating_pb2.StartSeasonRequest(season=2, name="spring")
    assert await operator.StartSeason(season) == await operator.StartSeason(season)
    other = rating_pb2.StartSeasonRequest(season=2, name="autumn", keep_percent=10)
    check(await refused(operator.StartSeason(other)), "season", "2", "name,keep_percent")


def message(module: Any, method: str, **content: Any) -> Any:
    return getattr(module, f"{method}Request")(**content)

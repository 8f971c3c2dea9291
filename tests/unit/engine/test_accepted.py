"""What a table remembers of requests and stakes, and for how long."""

import asyncio

import pytest

from okey.table import events as e
from okey.table.reasons import Departure, OutcomeKind, VacateReason
from services.engine.accepted import HELD, MOST_KEPT, AcceptedRequests, Holds
from services.engine.errors import RequestIdReused
from services.engine.record import Request, Row

STARTED = e.MatchStarted("match-1", 1, ("anna", "bert"), 90, 10)
ENDED = e.MatchEnded(
    "match-1",
    OutcomeKind.CANAK_DRAW,
    -1,
    None,
    (),
    False,
    ("a", "b"),
    (Departure.STAYED,) * 2,
    (),
    10,
)


def asked(name: str, content: bytes = b"x") -> Request:
    return Request("anna", name, content)


def row(seq: int, *events: e.Event, request: Request | None = None) -> Row:
    return Row(seq, seq, events or (e.CountdownCancelled(),), request)


def test_a_request_is_remembered_for_the_match_and_the_wait_before_it() -> None:
    """The same answer for the life of the match; forgotten when the next one starts."""
    requests = AcceptedRequests()
    requests.fold(row(1, request=asked("sit")))
    requests.fold(row(2, STARTED))
    requests.fold(row(3, request=asked("move")))
    requests.fold(row(4, ENDED))
    requests.fold(row(5, request=asked("play-on")))
    for name in ("sit", "move", "play-on"):
        assert requests.find(asked(name)) is not None
    requests.fold(row(6, STARTED))
    assert requests.find(asked("sit")) is None
    assert requests.find(asked("move")) is None
    found = requests.find(asked("play-on"))
    assert found is not None
    assert found.seq == 5


def test_a_request_id_stands_for_one_content_of_one_player() -> None:
    requests = AcceptedRequests()
    requests.fold(row(1, request=asked("sit")))
    with pytest.raises(RequestIdReused):
        requests.find(asked("sit", b"y"))
    assert requests.find(Request("bert", "sit", b"y")) is None


def test_memory_is_bounded() -> None:
    """Joining and leaving for ever fills no memory."""
    requests = AcceptedRequests()
    for seq in range(1, MOST_KEPT + 2):
        requests.fold(row(seq, request=asked(f"sit-{seq}")))
    assert requests.find(asked("sit-1")) is None
    assert requests.find(asked("sit-2")) is not None


async def test_a_verdict_is_waited_for_and_kept() -> None:
    """M1: held, or the wallet's reason; leaving before the answer is one too."""
    holds = Holds()
    waiting = asyncio.create_task(holds.verdict("hold-1", 10))
    await asyncio.sleep(0)
    holds.fold([e.SeatPaid(0, "hold-1")])
    holds.fold([e.SeatDeclined(1, "bert", "hold-2", "INSUFFICIENT_FUNDS", 1)])
    holds.fold([e.SeatVacated(1, "carl", "hold-3", VacateReason.LEFT, 1)])
    assert await waiting == HELD
    assert await holds.verdict("hold-2", 0) == "INSUFFICIENT_FUNDS"
    assert await holds.verdict("hold-3", 0) == "SEAT_LEFT"
    holds.fold([e.SeatVacated(0, "anna", "hold-1", VacateReason.LEFT, 1)])
    assert await holds.verdict("hold-1", 0) == HELD
    holds.fold([ENDED])
    assert await holds.verdict("hold-1", 0) == ""

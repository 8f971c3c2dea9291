"""What gRPC says of its peers: a line of a kind now and then; errors of our own with traceback."""

import logging

import grpc
import orjson
import pytest

from okey_runtime.clock import VirtualClock
from okey_runtime.library_noise import LibraryNoise
from okey_runtime.line_quota import LineQuota
from okey_runtime.logging import configure_logging, get_logger
from tests.metrics import sample

CORE = "grpc._cython.cygrpc"
BROKEN_OFF = "ExecuteBatchError raised in core by servicer method [/okey.test/Bidi]"


@pytest.fixture
def clock() -> VirtualClock:
    return VirtualClock()


@pytest.fixture
def noise(clock: VirtualClock) -> LibraryNoise:
    return LibraryNoise(LineQuota(clock, every_ms=1_000))


def line(
    text: str = BROKEN_OFF,
    error: BaseException | None = None,
    name: str = CORE,
    level: int = logging.ERROR,
) -> logging.LogRecord:
    error_info = (type(error), error, None) if error is not None else None
    return logging.LogRecord(name, level, __file__, 1, text, (), error_info)


def left_out() -> float:
    return sample("okey_log_lines_left_out_total", level="error")


@pytest.mark.parametrize("name", [CORE, "asyncio"])
def test_a_failed_batch_is_one_line_without_traceback(noise: LibraryNoise, name: str) -> None:
    record = line(error=grpc.aio.InternalError("Failed batch"), name=name)
    assert noise.filter(record)
    assert (record.exc_info, record.getMessage()) == (None, f"{BROKEN_OFF}: Failed batch")


def test_lines_of_a_kind_are_left_out_and_counted(noise: LibraryNoise, clock: VirtualClock) -> None:
    """Whatever method they name; the next one that is written says how many there were."""
    before = left_out()
    assert noise.filter(line())
    for number in range(5):
        assert not noise.filter(line(BROKEN_OFF.replace("Bidi", f"Method{number}")))
    assert left_out() == before + 5
    clock.advance_ms(1_000)
    told = line()
    assert noise.filter(told)
    assert told.getMessage() == f"{BROKEN_OFF} (and 5 like this that were left out)"
    clock.advance_ms(1_000)
    again = line()
    assert noise.filter(again)
    assert again.getMessage() == BROKEN_OFF


@pytest.mark.parametrize(
    "other", [line("Something else [x]"), line(level=logging.WARNING), line(name="grpc.aio")]
)
def test_another_kind_is_written(noise: LibraryNoise, other: logging.LogRecord) -> None:
    assert noise.filter(line())
    assert noise.filter(other)


@pytest.mark.parametrize(
    "record",
    [
        line("call_failed", grpc.aio.InternalError("seen by us"), "services.engine.play"),
        line("table_opened", None, "services.engine.play"),
        line("Executing took 0.2 s", None, "asyncio"),
    ],
)
def test_other_lines_are_written_in_full_each_time(
    noise: LibraryNoise, record: logging.LogRecord
) -> None:
    text, error = record.getMessage(), record.exc_info
    for _ in range(3):
        assert noise.filter(record)
        assert (record.getMessage(), record.exc_info) == (text, error)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("Unexpected [ValueError] raised by servicer method [/x]", CORE),
        ("Task exception was never retrieved", "asyncio"),
    ],
)
def test_an_error_of_our_own_that_a_library_caught_keeps_its_traceback(
    noise: LibraryNoise, text: str, name: str
) -> None:
    """A caller may be its cause, so it is one line of its type now and then."""
    record = line(text, ValueError("ours"), name)
    assert noise.filter(record)
    assert record.exc_info is not None
    assert not noise.filter(line(text, ValueError("ours"), name))
    assert noise.filter(line(text, KeyError("another of ours"), name))


def test_values_that_a_peer_chooses_make_no_further_kinds(noise: LibraryNoise) -> None:
    """As gRPC logs each header that is no UTF-8."""
    written = []
    for value in (b"\xbe", b"\xbf", b"[\xbe"):
        wrong = UnicodeDecodeError("utf-8", value, 0, 1, "invalid start byte")
        record = line("Invalid encoding on %s", wrong)
        record.args = (value,)
        written.append(noise.filter(record))
    assert written == [True, False, False]


def test_kinds_without_an_end_are_forgotten(noise: LibraryNoise) -> None:
    """What a peer may put into a text takes no memory for long."""
    for number in range(101):
        assert noise.filter(line(f"{number}"))
    assert noise.filter(line("0"))
    assert not noise.filter(line("100"))


@pytest.mark.usefixtures("fresh_logging")
def test_every_service_logs_like_that(capsys: pytest.CaptureFixture[str]) -> None:
    configure_logging("wallet")
    for _ in range(3):
        logging.getLogger(CORE).error(BROKEN_OFF, exc_info=grpc.aio.InternalError("Failed"))
    get_logger("services.wallet").error("failed", exc_info=ValueError("ours"))
    noise, ours = [orjson.loads(each) for each in capsys.readouterr().err.splitlines()]
    assert (noise["event"], noise["service"]) == (f"{BROKEN_OFF}: Failed", "wallet")
    assert "exception" not in noise
    assert "ValueError: ours" in ours["exception"]


def test_what_the_web_server_says_of_peers_is_noise(noise: LibraryNoise) -> None:
    records = [
        line("Invalid HTTP request received.", name="uvicorn.error", level=logging.WARNING)
        for _ in range(3)
    ]
    assert [noise.filter(each) for each in records] == [True, False, False]


def test_an_error_of_ours_in_the_web_server_keeps_its_traceback(noise: LibraryNoise) -> None:
    text = "Exception in ASGI application"
    records = [line(text, ValueError("ours"), name="uvicorn.error") for _ in range(3)]
    assert [noise.filter(each) for each in records] == [True, False, False]
    assert records[0].exc_info


def test_connections_that_the_loop_cannot_take_are_one_line(noise: LibraryNoise) -> None:
    """Whatever else it says below its first line."""
    error = OSError(24, "Too many open files")
    text = "socket.accept() out of system resource"
    records = [line(f"{text}\nsocket: <{number}>", error, name="asyncio") for number in range(3)]
    assert [noise.filter(each) for each in records] == [True, False, False]

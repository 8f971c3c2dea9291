"""What gRPC says of its peers: a line of a kind now and then; errors of our own in full."""

import logging

import grpc
import orjson
import pytest
from prometheus_client import REGISTRY

from okey_runtime.clock import VirtualClock
from okey_runtime.library_noise import LibraryNoise
from okey_runtime.logging import configure_logging, get_logger

CORE = "grpc._cython.cygrpc"
BROKEN_OFF = "ExecuteBatchError raised in core by servicer method [/okey.test/Bidi]"


@pytest.fixture
def clock() -> VirtualClock:
    return VirtualClock()


@pytest.fixture
def noise(clock: VirtualClock) -> LibraryNoise:
    return LibraryNoise(clock, every_ms=1_000)


def line(
    text: str = BROKEN_OFF,
    error: BaseException | None = None,
    name: str = CORE,
    level: int = logging.ERROR,
) -> logging.LogRecord:
    error_info = (type(error), error, None) if error is not None else None
    return logging.LogRecord(name, level, __file__, 1, text, (), error_info)


def left_out() -> float:
    return REGISTRY.get_sample_value("okey_log_lines_left_out_total", {"level": "error"}) or 0


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
        line("Unexpected [ValueError] raised by servicer method [/x]", ValueError("ours")),
        line("Unexpected [UsageError] raised", grpc.aio.UsageError("ours")),
        line("Task exception was never retrieved", ValueError("ours"), "asyncio"),
        line("call_failed", grpc.aio.InternalError("seen by us"), "services.engine.play"),
        line("table_opened", None, "services.engine.play"),
        line("Executing took 0.2 s", None, "asyncio"),
    ],
)
def test_errors_of_our_own_are_written_in_full_each_time(
    noise: LibraryNoise, record: logging.LogRecord
) -> None:
    text, error = record.getMessage(), record.exc_info
    for _ in range(3):
        assert noise.filter(record)
        assert (record.getMessage(), record.exc_info) == (text, error)


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


def test_an_error_of_ours_in_the_web_server_is_told_each_time(noise: LibraryNoise) -> None:
    text = "Exception in ASGI application"
    records = [line(text, ValueError("ours"), name="uvicorn.error") for _ in range(3)]
    assert all(noise.filter(each) and each.exc_info for each in records)


def test_connections_that_the_loop_cannot_take_are_one_line(noise: LibraryNoise) -> None:
    """Whatever else it says below its first line."""
    error = OSError(24, "Too many open files")
    text = "socket.accept() out of system resource"
    records = [line(f"{text}\nsocket: <{number}>", error, name="asyncio") for number in range(3)]
    assert [noise.filter(each) for each in records] == [True, False, False]

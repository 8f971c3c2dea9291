import logging

import orjson
import pytest
from grpc_health.v1 import health_pb2
from pydantic import SecretStr
from structlog.testing import capture_logs

from okey_runtime.logging import LogFormat, configure_logging, get_logger, log_context

pytestmark = pytest.mark.usefixtures("fresh_logging")


def lines(captured: pytest.CaptureFixture[str]) -> list[dict[str, object]]:
    return [orjson.loads(line) for line in captured.readouterr().err.splitlines()]


def test_a_line_is_one_json_object_with_service_and_ids(capsys: pytest.CaptureFixture[str]) -> None:
    configure_logging("wallet")
    with log_context(table_id="t1", player_id="ayse"):
        get_logger("x").info("table_opened", seat=2)
    (line,) = lines(capsys)
    assert line.pop("timestamp")
    assert line == {
        "event": "table_opened",
        "level": "info",
        "logger": "x",
        "service": "wallet",
        "table_id": "t1",
        "player_id": "ayse",
        "seat": 2,
    }


def test_ids_end_with_their_block(capsys: pytest.CaptureFixture[str]) -> None:
    configure_logging("wallet")
    with log_context(table_id="t1"):
        pass
    get_logger("x").info("later")
    assert "table_id" not in lines(capsys)[0]


def test_a_message_passed_in_is_written_as_its_type(capsys: pytest.CaptureFixture[str]) -> None:
    configure_logging("wallet")
    get_logger("x").info("got", request=health_pb2.HealthCheckRequest(service="hidden"))
    assert lines(capsys)[0]["request"] == "<grpc.health.v1.HealthCheckRequest>"


@pytest.mark.parametrize("key", ["token", "authorization", "password", "secret", "seed"])
def test_what_is_called_a_secret_is_not_written(
    capsys: pytest.CaptureFixture[str], key: str
) -> None:
    configure_logging("wallet")
    get_logger("x").info("got", **{key: "hunter2"}, url=SecretStr("hunter3"))
    assert "hunter" not in capsys.readouterr().err


def test_an_error_brings_its_traceback(capsys: pytest.CaptureFixture[str]) -> None:
    configure_logging("wallet")
    get_logger("x").error("failed", exc_info=ValueError("why"))
    assert "ValueError: why" in str(lines(capsys)[0]["exception"])


def test_libraries_lines_have_the_same_form(capsys: pytest.CaptureFixture[str]) -> None:
    configure_logging("wallet")
    logging.getLogger("alembic").warning("version %s", "abc")
    (line,) = lines(capsys)
    assert (line["event"], line["service"], line["level"]) == ("version abc", "wallet", "warning")


def test_lines_below_the_level_are_not_written(capsys: pytest.CaptureFixture[str]) -> None:
    configure_logging("wallet", "WARNING")
    get_logger("x").info("quiet")
    logging.getLogger("library").info("quiet")
    assert lines(capsys) == []


def test_sql_is_not_written_even_at_debug(capsys: pytest.CaptureFixture[str]) -> None:
    configure_logging("wallet", "DEBUG")
    logging.getLogger("sqlalchemy.engine.Engine").info("INSERT ... ('hidden')")
    assert lines(capsys) == []


def test_a_person_can_read_the_console_form(capsys: pytest.CaptureFixture[str]) -> None:
    configure_logging("wallet", form=LogFormat.CONSOLE)
    get_logger("x").info("table_opened", table_id="t1")
    text = capsys.readouterr().err
    assert "table_opened" in text
    assert "table_id=t1" in text
    assert not text.startswith("{")


def test_a_logger_that_was_used_follows_a_later_set_up(capsys: pytest.CaptureFixture[str]) -> None:
    """Modules keep their loggers for good; whoever listens to them later hears them too."""
    logger = get_logger("x")
    configure_logging("wallet")
    logger.info("first")
    configure_logging("engine")
    logger.info("second")
    assert [line["service"] for line in lines(capsys)] == ["wallet", "engine"]
    with capture_logs() as heard:
        logger.info("third")
    assert [line["event"] for line in heard] == ["third"]
    assert lines(capsys) == []

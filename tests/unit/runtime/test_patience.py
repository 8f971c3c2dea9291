"""Waiting for a database at a service's start."""

import pytest
import structlog

from okey_runtime.database import DatabaseAway, DatabaseLocked, DatabaseRefused
from okey_runtime.patience import until_there


async def test_it_is_asked_until_it_answers_and_the_log_says_so_twice() -> None:
    answers: list[int | Exception] = [
        DatabaseAway("away"),
        DatabaseRefused("a constraint"),
        DatabaseLocked("a lock"),
        7,
    ]

    async def ask() -> int:
        answer = answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    with structlog.testing.capture_logs() as logged:
        assert await until_there(ask) == 7
    said = [line["event"] for line in logged if line["log_level"] != "debug"]
    assert said == ["database_away", "database_back"]


async def test_what_waiting_does_not_mend_is_raised_at_once() -> None:
    async def ask() -> int:
        raise ValueError("a wrong URL")

    with pytest.raises(ValueError, match="a wrong URL"):
        await until_there(ask)

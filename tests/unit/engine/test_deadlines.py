"""Answers that must come in time, whatever became of those that were asked for before."""

import asyncio

import pytest

from okey_runtime.errors import RpcFailure
from services.engine.accepted import Accepted
from services.engine.deadlines import Deadlines


def asked() -> asyncio.Future[Accepted]:
    return asyncio.get_running_loop().create_future()


async def test_what_is_not_answered_in_time_fails() -> None:
    deadlines, answer = Deadlines(20), asked()
    deadlines.watch(answer)
    with pytest.raises(RpcFailure, match="20 ms"):
        await answer


async def test_an_answer_in_time_stays() -> None:
    deadlines = Deadlines(20)
    first, second, third = asked(), asked(), asked()
    for answer in (first, second, third):
        deadlines.watch(answer)
    second.set_result(Accepted(7, ()))
    with pytest.raises(RpcFailure):
        await third
    assert second.result().seq == 7
    assert isinstance(first.exception(), RpcFailure)


async def test_one_is_still_watched_after_all_others_were_answered() -> None:
    deadlines = Deadlines(20)
    for _ in range(3):
        answered = asked()
        deadlines.watch(answered)
        answered.set_result(Accepted(1, ()))
    late = asked()
    deadlines.watch(late)
    with pytest.raises(RpcFailure):
        await late


async def test_who_waits_less_long_is_told_sooner() -> None:
    deadlines, patient, hasty = Deadlines(60_000), asked(), asked()
    deadlines.watch(patient)
    deadlines.watch_sooner(hasty, 10)
    with pytest.raises(RpcFailure, match="10 ms"):
        await hasty
    assert not patient.done()

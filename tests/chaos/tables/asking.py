"""Asking the engine as a lobby does: the same again until there is an answer."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, Final

from okey_runtime.clock import Clock
from tests.chaos.tables.history import Asked
from tests.chaos.tables.link import Caller, NoAnswer, Refused

_PAUSE_S: Final = 0.3


async def until_answered(
    caller: Caller,
    method: Callable[..., Awaitable[Any]],
    request: Any,
    asked: Asked,
    clock: Clock,
) -> Any:
    """The answer, or None where it is a refusal; ``asked`` notes what came of it."""
    while True:
        try:
            answer = await caller.unary(method, request)
        except NoAnswer as error:
            asked.errors.append(str(error))
            await asyncio.sleep(_PAUSE_S)
            continue
        except Refused as error:
            asked.refusal = str(error)
            answer = None
        else:
            asked.seqs.append(getattr(answer, "seq", 0))
        asked.answered_ms = clock.now_ms()
        return answer

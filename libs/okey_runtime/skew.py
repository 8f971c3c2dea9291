"""How far two clocks are apart, and whether that is for somebody to look at."""

from typing import Final

from okey.api.common.v1 import status_pb2
from okey_runtime.status import OK, WARNING, WRONG

SKEW_WARNING_MS: Final = 1_000
SKEW_WRONG_MS: Final = 10_000


def skew_ms(its_ms: int, before_ms: int, after_ms: int) -> int:
    """How far a clock is ahead of ours that was read between two looks at ours; 0 within them."""
    if its_ms > after_ms:
        return its_ms - after_ms
    return min(0, its_ms - before_ms)


def judge_skew(ahead_ms: int) -> tuple[status_pb2.CheckState.ValueType, str]:
    """What such a difference of clocks is, and what to do about it."""
    advice = "set the clocks of both machines by NTP"
    if abs(ahead_ms) > SKEW_WRONG_MS:
        return WRONG, advice
    return (WARNING, advice) if abs(ahead_ms) > SKEW_WARNING_MS else (OK, "")


def tell_skew(ahead_ms: int) -> str:
    """The difference in words, to be followed by whose clock it is compared with."""
    if not ahead_ms:
        return "agrees with"
    return f"is {abs(ahead_ms)} ms {'ahead of' if ahead_ms > 0 else 'behind'}"

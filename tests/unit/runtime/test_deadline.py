import contextvars

from okey_runtime.deadline import set_deadline, timeout_s


def after(remaining_s: float | None, at_most_s: float) -> float:
    def compute() -> float:
        set_deadline(remaining_s)
        return timeout_s(at_most_s)

    return contextvars.copy_context().run(compute)


def test_outside_of_a_call_a_timeout_is_what_is_asked() -> None:
    assert contextvars.Context().run(timeout_s, 5.0) == 5.0


def test_a_call_without_a_deadline_limits_nothing() -> None:
    assert after(None, 5.0) == 5.0


def test_a_call_has_no_more_time_than_its_caller() -> None:
    assert 0 < after(2.0, 5.0) <= 2.0


def test_a_shorter_timeout_stays() -> None:
    assert after(60.0, 5.0) == 5.0


def test_a_deadline_that_has_passed_leaves_no_time() -> None:
    assert after(-1.0, 5.0) == 0.0

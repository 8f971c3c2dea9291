"""The collector looks seldom, and not at what was there before serving; it looks all the same."""

import gc
import weakref
from collections.abc import Iterator

import pytest

from okey_runtime.garbage import look_seldom, spare_what_lives


class Knot:
    """Refers to itself."""

    def __init__(self) -> None:
        self.self = self


@pytest.fixture(autouse=True)
def _as_before() -> Iterator[None]:
    threshold = gc.get_threshold()
    yield
    gc.set_threshold(*threshold)
    gc.unfreeze()


def test_new_objects_are_looked_at_seldom() -> None:
    before = gc.get_threshold()[0]
    look_seldom()
    assert gc.get_threshold()[0] > 10 * before
    assert gc.isenabled()


def test_what_lives_is_spared_and_what_comes_later_is_not() -> None:
    spare_what_lives()
    assert gc.get_freeze_count() > 1_000
    knot = Knot()
    gone = weakref.ref(knot)
    del knot
    gc.collect()
    assert gone() is None


def test_garbage_that_refers_to_itself_goes_in_the_end() -> None:
    """A look comes by itself once there are enough new objects."""
    look_seldom()
    gone = weakref.ref(Knot())
    kept = [[number] for number in range(2 * gc.get_threshold()[0])]
    assert gone() is None
    assert kept

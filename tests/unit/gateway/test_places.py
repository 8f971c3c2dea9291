"""Places of strangers: who goes for a newcomer, and who is refused."""

import pytest

from services.gateway.places import AddressBusy, Place, Places


class Crowd:
    """Takes places; ``gone`` are the names of those that were dropped."""

    def __init__(self, most: int, most_per_address: int) -> None:
        self.places = Places(most, most_per_address)
        self.gone: list[str] = []

    def take(self, name: str, *, is_proxy: bool = False) -> Place:
        address = name[0]
        return self.places.take(address, lambda: self.gone.append(name), is_proxy=is_proxy)


def test_the_longest_wait_of_an_address_goes_for_a_newcomer_of_it() -> None:
    crowd = Crowd(10, 2)
    for name in ("b1", "a1", "a2", "a3", "a4"):
        crowd.take(name)
    assert crowd.gone == ["a1", "a2"]


def test_the_longest_wait_of_the_largest_crowd_goes_when_all_are_taken() -> None:
    crowd = Crowd(4, 4)
    for name in ("b1", "a1", "a2", "a3", "c1", "d1"):
        crowd.take(name)
    assert crowd.gone == ["a1", "a2"]


def test_who_is_served_stays() -> None:
    crowd = Crowd(2, 2)
    first = crowd.take("a1")
    first.serve()
    crowd.take("a2")
    last = crowd.take("a3")
    assert crowd.gone == ["a2"]
    last.serve()
    with pytest.raises(AddressBusy, match="of a under way"):
        crowd.take("a4")
    with pytest.raises(AddressBusy):
        crowd.take("b1")
    first.wait()
    crowd.take("b2")
    assert crowd.gone == ["a2", "a1"]


def test_a_wait_that_begins_again_is_the_newest() -> None:
    crowd = Crowd(2, 2)
    first = crowd.take("a1")
    crowd.take("a2")
    first.wait()
    crowd.take("a3")
    assert crowd.gone == ["a2"]


def test_a_place_is_free_once_it_is_left() -> None:
    crowd = Crowd(1, 1)
    for _ in range(3):
        place = crowd.take("a1")
        place.leave()
        place.leave()
        place.wait()
    assert (len(crowd.places), crowd.gone) == (0, [])


def test_a_proxys_places_are_bounded_by_all_alone() -> None:
    crowd = Crowd(3, 1)
    for name in ("p1", "p2", "p3"):
        crowd.take(name, is_proxy=True)
    assert crowd.gone == []

"""docs/client.md names every argument and method of the client, and says what is iterated."""

import inspect
import re
from collections.abc import Callable, Iterator

import pytest

from okey_client import LobbyClient, OkeyClient, RatingClient, TableClient, WalletClient
from tests.docs.blocks import ROOT

PAGE = (ROOT / "docs" / "client.md").read_text("utf-8")
CALL = re.compile(r"`(?:\w+\.)?(\w+)\(")
CLASSES = (OkeyClient, LobbyClient, TableClient, WalletClient, RatingClient)


def rows() -> list[str]:
    return [line for line in PAGE.splitlines() if line.startswith("| `")]


def methods_of(cls: type) -> Iterator[tuple[str, Callable[..., object]]]:
    """What callers call; properties apart."""
    for name, method in inspect.getmembers(cls, inspect.isfunction):
        if not name.startswith("_"):
            yield name, method


@pytest.mark.parametrize("cls", CLASSES, ids=lambda cls: cls.__name__)
def test_every_method_has_a_row(cls: type) -> None:
    told = {name for row in rows() for name in CALL.findall(row)}
    assert sorted({name for name, _ in methods_of(cls)} - told) == []


def test_every_argument_of_the_client_has_a_row() -> None:
    told = {name for row in rows() for name in re.findall(r"`(\w+)`", row.split("|")[1])}
    assert sorted(inspect.signature(OkeyClient).parameters.keys() - told) == []


def test_what_is_iterated_is_said() -> None:
    iterated = {
        name
        for cls in CLASSES
        for name, method in methods_of(cls)
        if inspect.isasyncgenfunction(method)
    }
    assert len(iterated) > 3
    told = {name for row in rows() if "`async for`" in row for name in CALL.findall(row)}
    assert sorted(iterated - told) == []

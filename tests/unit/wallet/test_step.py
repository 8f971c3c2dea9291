"""Commands in step: whose turn comes first, who is asked together, and how a command ends."""

from collections.abc import Iterator, Sequence

import pytest
from sqlalchemy import Connection, create_engine

from okey.errors import Refused
from services.wallet.step import FellOut, NotTogether, Step, Turn, alone, in_step, padded


@pytest.fixture
def connection() -> Iterator[Connection]:
    """Steps of these tests do not use it."""
    with create_engine("sqlite://").connect() as connection:
        yield connection


class Asking:
    """Steps that note what is asked of them; ``nobody`` may not share."""

    def __init__(self, nobody: str = "") -> None:
        self.asked: list[tuple[str, list[str]]] = []
        self.tables = Step(Turn.TABLES, self._run("tables", nobody))
        self.accounts = Step(Turn.ACCOUNTS, self._run("accounts", nobody))
        self.journals = Step(Turn.JOURNALS, self._run("journals", nobody))

    def _run(self, name: str, nobody: str) -> "_Run":
        return _Run(self.asked, name, nobody)

    async def command(self, name: str) -> str:
        """Locks a table, then an account, then adds."""
        answers = [await each.ask(name) for each in (self.tables, self.accounts, self.journals)]
        return "".join(answers)

    async def grant(self, name: str) -> str:
        """Locks only an account."""
        return await self.accounts.ask(name)


class _Run:
    def __init__(self, asked: list[tuple[str, list[str]]], name: str, nobody: str) -> None:
        self._asked, self._name, self._nobody = asked, name, nobody

    def __call__(self, _: Connection, asked: Sequence[str]) -> list[str | NotTogether]:
        self._asked.append((self._name, list(asked)))
        return [NotTogether(each) if each == self._nobody else each for each in asked]


def test_all_ask_for_the_same_at_once_and_tables_come_first(connection: Connection) -> None:
    """M5: who wants an account only waits until all tables are locked."""
    asking = Asking()
    commands = [asking.grant("a"), asking.command("b"), asking.command("c")]
    assert in_step(connection, commands) == ["a", "bbb", "ccc"]
    assert asking.asked == [
        ("tables", ["b", "c"]),
        ("accounts", ["a", "b", "c"]),
        ("journals", ["b", "c"]),
    ]


def test_nothing_is_added_once_one_has_fallen_out(connection: Connection) -> None:
    """M5: all who cannot share are found before, and named."""
    asking = Asking(nobody="b")
    with pytest.raises(FellOut) as fell:
        in_step(connection, [asking.command(name) for name in "abc"])
    assert list(fell.value.errors) == [1]
    assert asking.asked == [("tables", ["a", "b", "c"]), ("accounts", ["a", "c"])]


def test_a_refusal_falls_out_and_a_bug_ends_all(connection: Connection) -> None:
    """A refusal is one command's; an error of Python's may be anybody's."""

    async def refused() -> str:
        raise Refused("no")

    async def broken() -> str:
        raise ZeroDivisionError

    with pytest.raises(FellOut) as fell:
        in_step(connection, [Asking().command("a"), refused()])
    assert isinstance(fell.value.errors[1], Refused)
    with pytest.raises(ZeroDivisionError):
        in_step(connection, [Asking().command("a"), broken()])


def test_alone_a_command_raises_what_it_raises(connection: Connection) -> None:
    """The error itself, not that somebody fell out."""

    async def refused() -> str:
        raise Refused("no")

    with pytest.raises(Refused, match="no"):
        alone(connection, refused())
    assert alone(connection, Asking().command("a")) == "aaa"


@pytest.mark.parametrize(("count", "size"), [(1, 1), (2, 2), (3, 4), (5, 8), (32, 32), (33, 64)])
def test_lists_of_few_lengths_are_asked_for(count: int, size: int) -> None:
    """Padded with the last one, which changes nothing in a set."""
    names = [f"n{number}" for number in range(count)]
    assert len(padded(names)) == size
    assert sorted(set(padded(names))) == sorted(names)

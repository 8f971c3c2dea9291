"""Commands in step: many share a transaction, and what they ask at the same turn is one statement.

A command is a coroutine that waits for ``Step``s; no event loop is behind it. ``in_step`` lets all
of them run to their next step, takes the step whose turn comes first, asks the database once for
all who wait there, and lets these go on. So tables are locked before accounts, and each of the two
sorted, however many commands share the transaction.

Between two steps a command has the transaction for itself: what it knows of accounts stays true
until it waits again.
"""

from collections.abc import Callable, Coroutine, Generator, Mapping, Sequence
from enum import IntEnum, auto
from typing import Any, Final, Generic, TypeVar

from sqlalchemy import Connection

from okey.errors import OkeyError

Asked = TypeVar("Asked")
Answer = TypeVar("Answer")
Result = TypeVar("Result")


class Turn(IntEnum):
    """The order in which a transaction does things; from JOURNALS on it only adds."""

    MATCHES = auto()
    TABLES = auto()
    STATES = auto()
    SEATS = auto()
    ACCOUNTS = auto()
    JOURNALS = auto()
    REQUESTS = auto()


class NotTogether(Exception):
    """The command can be carried out, but not in one transaction with these others."""


class FellOut(Exception):
    """Some of the commands were refused, so nothing may be committed; ``errors`` by their place."""

    def __init__(self, errors: Mapping[int, Exception]) -> None:
        super().__init__(f"{len(errors)} of the commands fell out: {errors}")
        self.errors: Final = errors


class Step(Generic[Asked, Answer]):
    """Something that commands ask of the database.

    ``run`` gets what all who wait have asked, and returns one answer each, in order; an error is
    raised in the command that it is the answer to. Whoever asks alone shares with nobody.
    """

    def __init__(
        self,
        turn: Turn,
        run: Callable[[Connection, Sequence[Asked]], Sequence[Answer | NotTogether]],
    ) -> None:
        self.turn: Final = turn
        self.run: Final = run

    def ask(self, asked: Asked) -> "_Waiting[Asked, Answer]":
        """Wait for the answer."""
        return _Waiting(self, asked)


class _Waiting(Generic[Asked, Answer]):
    """What a command waits for."""

    def __init__(self, step: Step[Asked, Answer], asked: Asked) -> None:
        self.step: Final = step
        self.asked: Final = asked

    def __await__(self) -> Generator["_Waiting[Asked, Answer]", Answer, Answer]:
        return (yield self)


def alone(connection: Connection, command: Coroutine[Any, Any, Result]) -> Result:
    """Carry out a single command, which raises what it raises."""
    try:
        [result] = in_step(connection, [command])
    except FellOut as fell:
        raise fell.errors[0] from None
    return result


def in_step(
    connection: Connection, commands: Sequence[Coroutine[Any, Any, Result]]
) -> list[Result]:
    """Carry the commands out together; their results, in order.

    Raises ``FellOut`` where some are refused; and at once what is nobody's refusal.
    """
    running = _InStep(commands)
    try:
        running.finish(connection)
    finally:
        for command in commands:
            command.close()
    if running.errors:
        raise FellOut(running.errors)
    return [running.results[place] for place in range(len(commands))]


class _InStep(Generic[Result]):
    """Who waits for what, and how the others have ended."""

    def __init__(self, commands: Sequence[Coroutine[Any, Any, Result]]) -> None:
        self.results: Final[dict[int, Result]] = {}
        self.errors: Final[dict[int, Exception]] = {}
        self._commands = commands
        self._waiting: dict[Step[Any, Any], list[tuple[int, Any]]] = {}

    def finish(self, connection: Connection) -> None:
        """Until all have ended, or one has failed and the others have nothing left but to add."""
        for place in range(len(self._commands)):
            self._go_on(place, None)
        while self._waiting:
            step = min(self._waiting, key=lambda each: each.turn)
            if self.errors and step.turn >= Turn.JOURNALS:
                return
            waited = self._waiting.pop(step)
            answers = step.run(connection, [asked for _, asked in waited])
            for (place, _), answer in zip(waited, answers, strict=True):
                self._go_on(place, answer)

    def _go_on(self, place: int, answer: object) -> None:
        command = self._commands[place]
        try:
            if isinstance(answer, NotTogether):
                waiting = command.throw(answer)
            else:
                waiting = command.send(answer)
        except StopIteration as end:
            self.results[place] = end.value
        except (OkeyError, NotTogether) as error:
            self.errors[place] = error
        else:
            self._waiting.setdefault(waiting.step, []).append((place, waiting.asked))


def padded(names: Sequence[Asked]) -> list[Asked]:
    """The names, the last one repeated up to a power of two.

    A list of parameters of each length is a statement of its own, to be compiled and planned; like
    this there are few.
    """
    assert names
    size = 1 << max(0, len(names) - 1).bit_length()
    return [*names, *[names[-1]] * (size - len(names))]

"""What one run was seen to do: outages, what every client sent and heard, what is stored at last.

Plain values without behaviour, so that the checks are functions of them and can be shown bad
histories. All times are milliseconds since the epoch.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final

from okey.api.engine.v1 import engine_pb2, table_pb2
from services.engine.record import Row

ENGINE: Final = "engine"
DATABASE: Final = "database"
KILLED: Final = "killed"
PAUSED: Final = "paused"
RESTARTED: Final = "restarted"
CUT_OFF: Final = "cut off"
"""From its database, while clients reach it."""


@dataclass(frozen=True, slots=True)
class Outage:
    """While a part certainly served nobody: from after it was hit to before it was seen alive.

    ``target`` is the database or an engine by its name.
    """

    target: str
    kind: str
    began_ms: int
    ended_ms: int

    @property
    def length_ms(self) -> int:
        """How long it lasted."""
        return self.ended_ms - self.began_ms


@dataclass(frozen=True, slots=True)
class Opened:
    """A client asked for a stream, after a row or (None) from a snapshot on."""

    at_ms: int
    after_seq: int | None


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The table as it is; ``wire`` is the message as it came, byte for byte."""

    at_ms: int
    view: table_pb2.TableView
    wire: bytes


@dataclass(frozen=True, slots=True)
class Update:
    """One row; ``wire`` is the message as it came, byte for byte."""

    at_ms: int
    update: engine_pb2.TableUpdate
    wire: bytes


@dataclass(frozen=True, slots=True)
class Ended:
    """The stream is over: the server's reason, or the code with which it broke."""

    at_ms: int
    reason: str


Heard = Opened | Snapshot | Update | Ended


@dataclass(slots=True)
class Asked:
    """One command of a player, however often it was sent; nobody knows its end while ``seqs`` and
    ``refusal`` are empty.
    """

    kind: str
    request_id: str
    sent_ms: int
    turn: int = 0
    errors: list[str] = field(default_factory=list)
    """Why each try before the last one had no answer."""
    answered_ms: int = 0
    seqs: list[int] = field(default_factory=list)
    """The row that each acceptance named; 0 where the answer names none."""
    refusal: str = ""
    drawn: int = 0
    """The tile that a draw was told to have given."""


@dataclass(slots=True)
class ClientHistory:
    """What one client saw of one table; ``player`` owns a seat there unless ``is_spectator``."""

    player: str
    table_id: str
    is_spectator: bool = False
    is_matched: bool = False
    """Whether the lobby has found the table and sat the player down, by requests of its own."""
    heard: list[Heard] = field(default_factory=list)
    asked: list[Asked] = field(default_factory=list)
    overslept: set[int] = field(default_factory=set)
    """Turns that the script let run out."""


@dataclass(frozen=True)
class History:
    """A whole run; ``rows`` by table as stored in the end, ``booked`` counts the wallet's journals
    by kind and match.

    A pause of at most ``unnoticed_ms`` may pass for a slow answer, so that clocks run on.
    ``freezes`` are the times in which each engine says that its clocks stood.
    ``first_owners`` tells at which engine a table was opened; where it is silent there is one.
    ``still_open`` are the tables that were not at rest yet when books and then rows were read,
    ``own_stops`` the times in which the clients themselves did not run.
    """

    outages: Sequence[Outage]
    unnoticed_ms: int
    clients: Sequence[ClientHistory]
    rows: Mapping[str, Sequence[Row]]
    booked: Counter[tuple[str, str]]
    first_owners: Mapping[str, str] = field(default_factory=dict)
    still_open: frozenset[str] = frozenset()
    own_stops: Sequence[Outage] = ()
    freezes: Sequence[Outage] = ()

    @cached_property
    def known_outages(self) -> list[Outage]:
        """The outages that engines knew of, each as one engine's.

        Leaves out a pause that passes for slow answers. For an outage of the database it takes the
        engine's own freeze: an observer does not see the engine's first failed question, nor its
        first answered one.
        """
        known: list[Outage] = []
        for outage in self.outages:
            if outage.target == DATABASE or outage.kind == CUT_OFF:
                known += _frozen_by(outage, self.freezes)
            elif outage.kind != PAUSED or outage.length_ms > self.unnoticed_ms:
                known.append(outage)
        return known


def _frozen_by(outage: Outage, freezes: Sequence[Outage]) -> Iterator[Outage]:
    """The part of an outage in which each engine that it kept from its database was frozen."""
    for freeze in freezes:
        began_ms = max(outage.began_ms, freeze.began_ms)
        ended_ms = min(outage.ended_ms, freeze.ended_ms)
        if outage.target in (DATABASE, freeze.target) and ended_ms > began_ms:
            yield Outage(freeze.target, outage.kind, began_ms, ended_ms)


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that must never be; ``check`` names the promise that was broken."""

    check: str
    table_id: str
    who: str
    text: str

    def __str__(self) -> str:
        who = f" ({self.who})" if self.who else ""
        return f"{self.check}: table {self.table_id}{who}: {self.text}"

"""What one journal row holds: the events of one command, as protobuf.

Some of these are made for every command; they are not frozen, since that makes them four times
slower to make.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final, cast, get_args

from okey.api.journal.v1 import journal_pb2
from okey.table.events import Event, TileDiscarded, TileDrawn, TurnStarted
from okey_runtime.codec import UndecodableMessage, UnionCodec, case_name

_EVENTS: Final = UnionCodec(get_args(Event), journal_pb2.StoredEvent, oneof="event", is_exact=True)

_FEW: Final = frozenset({TileDrawn, TileDiscarded})
"""Events of which there are few different ones, at all tables together, and which come often."""
_MANY_EVENTS: Final = 2_048
_PLAIN: Final = frozenset({TurnStarted, TileDrawn, TileDiscarded})


@dataclass(slots=True)
class Request:
    """Who asked for a row under which id; ``digest`` is the SHA-256 of the request's content."""

    player: str
    request_id: str
    digest: bytes


@dataclass(slots=True)
class Row:
    """One row of a table's journal; ``at_ms`` is when its command arrived, ``payload`` its events
    as they are stored.
    """

    seq: int
    at_ms: int
    events: tuple[Event, ...]
    request: Request | None = None
    payload: bytes = field(default=b"", compare=False, repr=False)
    is_plain: bool = field(init=False, compare=False, repr=False)
    """Whether it holds nothing but draws, discards and starts of turns, as most rows do: nobody
    comes or goes by it, and no chips move.
    """

    def __post_init__(self) -> None:
        self.is_plain = all(type(event) in _PLAIN for event in self.events)


_FIELDS: Final = journal_pb2.StoredEvent.DESCRIPTOR.fields_by_name
_NUMBERS: Final = {kind.__name__: _FIELDS[case_name(kind)].number for kind in get_args(Event)}
EVERY_KIND: Final = frozenset(_NUMBERS.values())
"""The kinds of events of this version, as the journal numbers them."""


class EventKinds:
    """The kinds of events that an engine knows; ``off`` are those that it is to behave as if it did
    not, by name.
    """

    def __init__(self, off: Collection[str] = ()) -> None:
        if unknown := set(off) - _NUMBERS.keys():
            raise ValueError(f"{', '.join(sorted(unknown))}: there are no such kinds of events")
        self._off = {_NUMBERS[name] for name in off}
        self.known: Final = EVERY_KIND - self._off

    def written(self, events: Iterable[Event]) -> frozenset[int]:
        """The kinds of these events, as the journal numbers them."""
        return self.numbers(map(type, events))

    def numbers(self, kinds: Iterable[type[Event]]) -> frozenset[int]:
        """The numbers of these kinds."""
        return frozenset(_NUMBERS[kind.__name__] for kind in kinds)

    def decode(self, payload: bytes) -> tuple[Event, ...]:
        """As ``decode_events``; a kind that is off is not known here either."""
        events = decode_events(payload)
        if self._off and not self.written(events) <= self.known:
            raise UndecodableMessage("a row holds an event of a kind that is off here")
        return events


def encode_events(events: Sequence[Event]) -> bytes:
    """The events as a row's payload."""
    # A record is its events one after another, so each can be made alone.
    return b"".join([_often(e) if type(e) in _FEW else _once(e) for e in events])


def encode_event(event: Event) -> bytes:
    """One event as it stands in a payload."""
    return _often_alone(event) if type(event) in _FEW else _alone(event)


def _alone(event: Event) -> bytes:
    return _EVENTS.encode(event).SerializeToString()


_often_alone: Final = lru_cache(_MANY_EVENTS)(_alone)


def _once(event: Event) -> bytes:
    return journal_pb2.Record(events=[_EVENTS.encode(event)]).SerializeToString()


_often: Final = lru_cache(_MANY_EVENTS)(_once)


def decode_events(payload: bytes) -> tuple[Event, ...]:
    """The events of a row's payload; what is encrypted in it is left out (``Seals.opened``).

    Raises:
        UndecodableMessage: an event, a field or a value in it is not known to this version.
    """
    record = journal_pb2.Record.FromString(payload)
    # A field that is passed over would give another state than the one that was decided.
    record.DiscardUnknownFields()
    if record.ByteSize() != len(payload):
        raise UndecodableMessage("a field of a row is not known here: a newer version wrote it")
    return tuple(cast(Event, _EVENTS.decode(stored)) for stored in record.events)

"""A committed row as the bytes that streams carry, each part made once for all who see it alike.

A protobuf message is its fields one after another, so an update is put together from parts: what
everybody sees, what one viewer sees of the events, and what it may do now.
"""

from collections.abc import Iterable, Mapping
from functools import lru_cache
from itertools import repeat
from typing import Final, get_args

from okey.api.engine.v1 import engine_pb2
from okey.table.events import Event, TileDiscarded
from okey.table.prompt import Choices, choices, has_same_choices
from okey.table.public import OpenEvent, PublicEvent, PublicTileDrawn, is_privy, public_event
from okey.table.state import TableState
from okey.table.view import SPECTATOR, view
from okey_runtime.codec import encode
from services.engine.record import Row
from services.engine.wire import (
    moment_message,
    named_view,
    names_shown,
    public_message,
    viewers_along,
)

_OPEN: Final = frozenset(get_args(OpenEvent))
"""Events that everybody sees as they are."""
_FEW: Final = frozenset({PublicTileDrawn, TileDiscarded})
"""Events of which there are few different ones, at all tables together, and which come often."""

_MANY_CHOICES: Final = 1_024
_MANY_EVENTS: Final = 2_048
_UPDATE: Final = engine_pb2.PlayResponse.UPDATE_FIELD_NUMBER
_PROMPT: Final = engine_pb2.TableUpdate.PROMPT_FIELD_NUMBER
assert _UPDATE == engine_pb2.WatchTableResponse.UPDATE_FIELD_NUMBER, "one row, two kinds of stream"


class RowUpdates:
    """One row for everybody who follows the table while it is committed."""

    def __init__(
        self,
        after: TableState,
        row: Row,
        now_ms: int,
        names: Mapping[str, str],
        allowed: "Allowed",
    ) -> None:
        """``allowed`` knows what everybody may do after the row."""
        self._after = after
        self._allowed = allowed
        self._row = row
        self._now_ms = now_ms
        self._names = names
        self._head = engine_pb2.TableUpdate(
            seq=row.seq, server_time_ms=now_ms, display_names=names_shown(row, names) or None
        ).SerializeToString()
        self._moment = moment_message(after).SerializeToString()
        self._made: dict[tuple[int, int], bytes] = {}
        self._open = b""
        if all(type(event) in _OPEN for event in row.events):
            self._open = b"".join(map(_encoded, row.events))

    def wire(self, player: str, was: int, now: int, *, with_view: bool) -> bytes:
        """A ``PlayResponse``, or ``WatchTableResponse``, with what the player sees of the row: who
        owned the seat ``was`` before it, and owns ``now`` after it (SPECTATOR for none).
        """
        prompt = _field(_PROMPT, self._moment + self._allowed.to(now))
        update = self._head + (self._open or self._events(player, was)) + prompt
        if with_view:
            seen = named_view(view(self._after, now), self._row.seq, self._now_ms, self._names)
            update += engine_pb2.TableUpdate(view=seen).SerializeToString()
        return _field(_UPDATE, update)

    def _events(self, player: str, was: int) -> bytes:
        if self._row.is_plain:
            viewers: Iterable[int] = repeat(was, len(self._row.events))
        else:
            viewers = viewers_along(self._row.events, player, was)
        return b"".join([self._event(place, viewer) for place, viewer in enumerate(viewers)])

    def _event(self, place: int, viewer: int) -> bytes:
        event = self._row.events[place]
        key = (place, viewer if is_privy(event, viewer) else SPECTATOR)
        made = self._made.get(key)
        if made is None:
            made = self._made[key] = _encoded(public_event(event, key[1]))
        return made


class Allowed:
    """What each viewer of a table may do after its newest row, as the bytes of a prompt; what the
    row has not changed is not made again.
    """

    __slots__ = ("_made", "_state")

    def __init__(self) -> None:
        self._state: TableState | None = None
        self._made: dict[int, bytes] = {}

    def follow(self, before: TableState | None, after: TableState) -> None:
        """A row was committed."""
        if before is None or before is not self._state:
            self._made = {}
        else:
            self._made = {
                viewer: made
                for viewer, made in self._made.items()
                if has_same_choices(before, after, viewer)
            }
        self._state = after

    def to(self, viewer: int) -> bytes:
        """What the viewer (a seat, or SPECTATOR) may do now."""
        made = self._made.get(viewer)
        if made is None:
            assert self._state is not None, "asked before any row"
            made = self._made[viewer] = _choices(choices(self._state, viewer))
        return made


def _encoded(event: Event | PublicEvent) -> bytes:
    return _often(event) if type(event) in _FEW else _once(event)


def _once(event: Event | PublicEvent) -> bytes:
    return engine_pb2.TableUpdate(events=[public_message(event)]).SerializeToString()


_often: Final = lru_cache(_MANY_EVENTS)(_once)


@lru_cache(_MANY_CHOICES)
def _choices(mine: Choices) -> bytes:
    return encode(mine, engine_pb2.Prompt).SerializeToString()


def _field(number: int, content: bytes) -> bytes:
    """A message as a field of the message around it: tag, length, content."""
    length = len(content)
    if length < 128:
        return bytes((number << 3 | 2, length)) + content
    head = bytearray((number << 3 | 2,))
    while length > 127:
        head.append(length & 127 | 128)
        length >>= 7
    head.append(length)
    return bytes(head) + content

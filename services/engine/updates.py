"""A committed row as the bytes that streams carry, each part made once for all who see it alike.

A protobuf message is its fields one after another, so an update is put together from parts: what
everybody sees, what one viewer sees of the events, and what it may do now.
"""

from collections.abc import Mapping
from functools import lru_cache
from typing import Final, get_args

from okey.api.engine.v1 import engine_pb2
from okey.table.events import Event
from okey.table.prompt import Choices, choices, moment
from okey.table.public import OpenEvent, PublicEvent, public_event
from okey.table.state import TableState
from okey.table.view import view
from okey_runtime.codec import encode
from services.engine.record import Row
from services.engine.wire import named_view, names_shown, public_message, viewers_along

_OPEN: Final = frozenset(get_args(OpenEvent))
"""Events that everybody sees as they are."""

_MANY_CHOICES: Final = 1_024
_UPDATE: Final = engine_pb2.PlayResponse.UPDATE_FIELD_NUMBER
_PROMPT: Final = engine_pb2.TableUpdate.PROMPT_FIELD_NUMBER
assert _UPDATE == engine_pb2.WatchTableResponse.UPDATE_FIELD_NUMBER, "one row, two kinds of stream"


class RowUpdates:
    """One row for everybody who follows the table while it is committed."""

    def __init__(self, after: TableState, row: Row, now_ms: int, names: Mapping[str, str]) -> None:
        self._after = after
        self._row = row
        self._now_ms = now_ms
        self._names = names
        self._head = engine_pb2.TableUpdate(
            seq=row.seq, server_time_ms=now_ms, display_names=names_shown(row, names)
        ).SerializeToString()
        self._moment = encode(moment(after), engine_pb2.Prompt).SerializeToString()
        self._made: dict[Event | PublicEvent, bytes] = {}
        self._is_open = all(type(event) in _OPEN for event in row.events)

    def wire(self, player: str, was: int, now: int, *, with_view: bool) -> bytes:
        """A ``PlayResponse``, or ``WatchTableResponse``, with what the player sees of the row: who
        owned the seat ``was`` before it, and owns ``now`` after it (SPECTATOR for none).
        """
        mine = _choices(choices(self._after, now))
        update = self._head + self._events(player, was) + _field(_PROMPT, self._moment + mine)
        if with_view:
            seen = named_view(view(self._after, now), self._row.seq, self._now_ms, self._names)
            update += engine_pb2.TableUpdate(view=seen).SerializeToString()
        return _field(_UPDATE, update)

    def _events(self, player: str, was: int) -> bytes:
        if self._is_open:
            return b"".join([self._event(event) for event in self._row.events])
        viewers = viewers_along(self._row.events, player, was)
        pairs = zip(self._row.events, viewers, strict=True)
        return b"".join([self._event(public_event(event, viewer)) for event, viewer in pairs])

    def _event(self, event: Event | PublicEvent) -> bytes:
        made = self._made.get(event)
        if made is None:
            update = engine_pb2.TableUpdate(events=[public_message(event)])
            made = self._made[event] = update.SerializeToString()
        return made


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

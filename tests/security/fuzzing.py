"""Hostile input over the wire: random bytes, random messages, and valid ones that were spoilt.

Everything follows from the seed, so that what was found can be done again.
"""

import random
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, cast

from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message

from okey_runtime.identity import Role
from tests.security.rpcs import Rpc

_DEEPEST: Final = 4
_ODD_NUMBERS: Final = (0, 1, -1, 2, 3, 50, 100, 2**31 - 1, -(2**31), 2**63 - 1, -(2**63), 10**15)
_ODD_TEXTS: Final = (
    "", "x", "player:", "house:rake", "'; DROP TABLE journal; --", "\x00", "a" * 5_000, "../../etc",
    "%s%n{0}", "Ç1 ğüşöıİ", "\u202e", "9" * 40, "null", "-1", "\ud7ff", "<script>",
)  # fmt: skip
_NEVER: Final = {("OperatorService.Drain", Role.OPERATOR), ("PeerService.Leave", Role.ENGINE)}
"""They would end the engine, as they are meant to, and with it all that follows; others try them.
"""


@dataclass(frozen=True)
class Shot:
    """One call: who makes it (None: nobody), what it sends, and how that was made."""

    number: int
    rpc: Rpc
    role: Role | None
    payloads: tuple[bytes, ...]
    kind: str


class Gun:
    """Makes shots; ``known`` has values that mean something here, by the name of the field."""

    def __init__(self, rpcs: list[Rpc], roles: Mapping[str, frozenset[Role]], seed: int) -> None:
        self._rpcs = rpcs
        self._roles = roles
        self._random = random.Random(seed)
        self.known: dict[str, list[Any]] = {}
        self.operators_tables: list[str] = []
        """Those that operators get, who would soon have stopped all others."""
        self._tables: list[Any] = []
        self._kinds: dict[str, Callable[[Rpc], bytes]] = {
            "random bytes": lambda _: self._bytes(),
            "random message": lambda rpc: self._message(rpc.request),
            "likely message": lambda rpc: self._message(rpc.request, odd=0.03),
            "mutated message": lambda rpc: self._mutated(self._message(rpc.request, odd=0.1)),
        }

    def shots(self, count: int) -> Iterator[Shot]:
        """So many, over all RPCs in turn."""
        for number in range(count):
            rpc = self._rpcs[number % len(self._rpcs)]
            role = self._role(rpc)
            is_operators = rpc.service.endswith("OperatorService")
            self._tables = self.operators_tables if is_operators else self.known["table_id"]
            kind = self._random.choice(list(self._kinds))
            messages = self._random.randint(1, 4) if rpc.takes_stream else 1
            payloads = tuple(self._kinds[kind](rpc) for _ in range(messages))
            yield Shot(number, rpc, role, payloads, kind)

    def _role(self, rpc: Rpc) -> Role | None:
        """Mostly one that may call, since the others are refused before their bytes are read."""
        may = sorted(self._roles[rpc.path])
        if not may or self._random.random() < 0.1:
            may = [*Role]
        role = self._random.choice(may)
        if self._random.random() < 0.02:
            return None
        return Role.PLAYER if (rpc.short, role) in _NEVER else role

    def _bytes(self) -> bytes:
        length = self._random.choice((0, 1, 2, 8, 64, 500, 4_000))
        return self._random.randbytes(self._random.randint(0, length))

    def _message(self, kind: type[Message], odd: float = 0.4) -> bytes:
        message = kind()
        self._fill(message, odd, 0)
        return message.SerializeToString()

    def _fill(self, message: Message, odd: float, depth: int) -> None:
        # The types of generated descriptors are looser than they are.
        fields = cast("list[FieldDescriptor]", list(message.DESCRIPTOR.fields))
        chosen = {
            name: self._random.choice([field.name for field in oneof.fields])
            for name, oneof in message.DESCRIPTOR.oneofs_by_name.items()
        }
        for field in fields:
            oneof = field.containing_oneof
            if oneof is not None and chosen[oneof.name] != field.name:
                continue
            if self._random.random() < 0.15 + odd / 4:
                continue  # left out
            self._put(message, field, odd, depth)

    def _put(self, message: Message, field: FieldDescriptor, odd: float, depth: int) -> None:
        if field.message_type is not None:
            if depth >= _DEEPEST or field.message_type.GetOptions().map_entry:
                return
            inner = getattr(message, field.name)
            for _ in range(self._random.randint(0, 3) if field.is_repeated else 1):
                self._fill(inner.add() if field.is_repeated else inner, odd, depth + 1)
            if not field.is_repeated:
                inner.SetInParent()
            return
        if field.is_repeated:
            size = self._random.choice((0, 1, 2, 4, 300)) if self._random.random() < odd else 2
            getattr(message, field.name).extend(self._value(field, odd) for _ in range(size))
        else:
            setattr(message, field.name, self._value(field, odd))

    def _value(self, field: FieldDescriptor, odd: float) -> Any:
        pick = self._random
        is_odd = pick.random() < odd
        if not is_odd and field.name in ("table_id", "table_ids"):
            return pick.choice(self._tables)
        if not is_odd and field.name in self.known:
            return pick.choice(self.known[field.name])
        if field.enum_type is not None:
            numbers = [value.number for value in field.enum_type.values]
            return pick.choice([99, -1, 2**31 - 1] if is_odd else numbers)
        if field.type == FieldDescriptor.TYPE_BYTES:
            return pick.randbytes(pick.choice((0, 1, 31, 33, 5_000)) if is_odd else 32)
        match field.cpp_type:
            case FieldDescriptor.CPPTYPE_STRING:
                return pick.choice(_ODD_TEXTS) if is_odd else f"fuzz-{pick.getrandbits(40):010x}"
            case FieldDescriptor.CPPTYPE_BOOL:
                return pick.random() < 0.5
            case FieldDescriptor.CPPTYPE_DOUBLE | FieldDescriptor.CPPTYPE_FLOAT:
                return pick.choice((0.0, -1.0, float("nan"), float("inf"), 1e300))
            case kind:
                number = pick.choice(_ODD_NUMBERS) if is_odd else pick.randint(0, 200)
                return _within(number, kind)

    def _mutated(self, content: bytes) -> bytes:
        """Bits turned, pieces cut out, doubled or put in, as broken and hostile clients do."""
        spoilt = bytearray(content)
        for _ in range(self._random.randint(1, 4)):
            at = self._random.randrange(len(spoilt) + 1)
            match self._random.randrange(5):
                case 0 if at < len(spoilt):
                    spoilt[at] ^= 1 << self._random.randrange(8)
                case 1:
                    del spoilt[at : at + self._random.randint(1, 8)]
                case 2:
                    spoilt[at:at] = self._random.randbytes(self._random.randint(1, 8))
                case 3:
                    spoilt += spoilt[at:]
                case _:
                    del spoilt[at:]
        return bytes(spoilt)


def _within(number: int, kind: object) -> int:
    """The number as the field can hold it."""
    is_short = kind in (FieldDescriptor.CPPTYPE_INT32, FieldDescriptor.CPPTYPE_UINT32)
    size: int = 1 << (32 if is_short else 64)
    if kind in (FieldDescriptor.CPPTYPE_UINT32, FieldDescriptor.CPPTYPE_UINT64):
        return number % size
    return max(-size // 2, min(size // 2 - 1, number))

"""Somebody who has a copy of the engine's database, but no key: what can be learned from it?

It looks for secrets as bytes, in every usual spelling, and reads every value of every table that
can be read: rows, snapshots, archived tables.
"""

import json
import zlib
from base64 import b64encode
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from google.protobuf.message import DecodeError
from sqlalchemy import Connection, MetaData, select

from okey.api.common.v1 import common_pb2
from okey.api.journal.v1 import journal_pb2
from okey.rules.tile import Tile
from okey.table.state import TableState
from okey_runtime.database import Database


@dataclass(frozen=True, slots=True)
class Secrets:
    """What nobody may learn while a round runs."""

    seed: bytes
    nonces: tuple[bytes, ...]
    racks: tuple[tuple[Tile, ...], ...] = ()
    stock: tuple[Tile, ...] = ()

    @classmethod
    def of(cls, state: TableState, nonces: tuple[bytes, ...]) -> "Secrets":
        """Those of a table as it is now."""
        if state.round is None:
            assert state.sealed is not None
            return cls(state.sealed.seed, nonces)
        racks = tuple(hand.rack for hand in state.round.hands)
        return cls(state.round.seed, nonces, racks, state.round.stock)


async def values_in(database: Database) -> list[bytes]:
    """Every value of every table, as bytes."""

    def read(connection: Connection) -> list[bytes]:
        metadata = MetaData()
        metadata.reflect(connection)
        rows = (row for t in metadata.sorted_tables for row in connection.execute(select(t)))
        return [_bytes(value) for row in rows for value in row if value is not None]

    return await database.read(read)


def learned(secrets: Secrets, values: Iterable[bytes], files: Iterable[bytes] = ()) -> set[str]:
    """Which secrets follow from the values of a database and the bytes of its files."""
    values = list(values)
    found = set()
    haystack = [*values, *files]
    if _stands(secrets.seed, haystack):
        found.add("seed")
    if any(_stands(nonce, haystack) for nonce in secrets.nonces):
        found.add("nonce")
    tiles = [bytes(rack) for rack in secrets.racks] + [bytes(secrets.stock)]
    if any(len(text) > 6 and _stands(text, haystack) for text in tiles):
        found.add("tiles")
    for value in values:
        found |= {kind for record in _records(value) for kind in _shown(record)}
        if _is_json(value):
            found.add("snapshot")
    return found


def _bytes(value: Any) -> bytes:
    return value if isinstance(value, bytes) else str(value).encode()


def _stands(secret: bytes, haystack: Iterable[bytes]) -> bool:
    spelled = (secret, secret.hex().encode(), secret.hex().upper().encode(), b64encode(secret)[:-4])
    return any(spelling in text for text in haystack for spelling in spelled)


def _records(value: bytes) -> Iterator[journal_pb2.Record]:
    """The value as a row, or the rows of an archived table; none where it is neither."""
    payloads = [value]
    try:
        packed = journal_pb2.ArchivedTable.FromString(zlib.decompress(value))
        payloads += [row.payload for row in packed.rows]
    except (zlib.error, DecodeError):
        pass
    for payload in payloads:
        try:
            yield journal_pb2.Record.FromString(payload)
        except DecodeError:
            continue


def _shown(record: journal_pb2.Record) -> Iterator[str]:
    """What of a row nobody may see while its round runs."""
    for event in record.events:
        match event.WhichOneof("event"):
            case "round_dealt":
                if any(rack.tiles for rack in event.round_dealt.racks):
                    yield "rack"
                if event.round_dealt.stock:
                    yield "stock"
            case "tile_drawn" if event.tile_drawn.source == common_pb2.DRAW_SOURCE_STOCK:
                if event.tile_drawn.tile:
                    yield "draw"
            case _:
                pass


def _is_json(value: bytes) -> bool:
    try:
        return isinstance(json.loads(value), list)
    except ValueError:
        return False

"""Dataclasses and protobuf messages agree, and nothing is lost or added on the way."""

import dataclasses
import typing
from dataclasses import dataclass
from enum import Enum, IntEnum
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from okey.api.common.v1 import common_pb2
from okey.api.common.v1 import table_pb2 as common_table_pb2
from okey.api.engine.v1 import table_pb2
from okey.api.events.v1 import events_pb2
from okey.api.journal.v1 import journal_pb2
from okey.rules.rule_set import DEFAULT_RULE_SET, RuleSet
from okey.rules.tile import Tile
from okey.table.commands import SealedSeed, Timer, TimerKind
from okey.table.config import TableConfig
from okey.table.events import Event, HouseSeated, SeatPaid, TileDrawn
from okey.table.legal import LegalAction
from okey.table.public import PublicEvent, PublicTileDrawn
from okey.table.state import Phase, SeatStatus
from okey.table.view import Control, RoundView, SeatView, TableView, TurnView
from okey_runtime.codec import (
    CodecMismatch,
    UndecodableMessage,
    UnionCodec,
    case_name,
    decode,
    encode,
    require_same_fields,
)

JOURNAL = UnionCodec(typing.get_args(Event), journal_pb2.StoredEvent, oneof="event", is_exact=True)
PUBLIC = UnionCodec(typing.get_args(PublicEvent), events_pb2.Event, oneof="event", prefix="Public")


def values(hint: Any) -> st.SearchStrategy[Any]:
    """Any value of a field's type; 32-bit, so that it fits every integer field."""
    if hint is RuleSet:
        return st.just(DEFAULT_RULE_SET) | st.just(RuleSet(version="x", bot_bank_floor=-1))
    if hint is int:
        return st.integers(-(2**31), 2**31 - 1)
    if dataclasses.is_dataclass(hint):
        return instances(hint)
    if typing.get_origin(hint) is tuple:
        return st.lists(values(typing.get_args(hint)[0]), max_size=4).map(tuple)
    if typing.get_args(hint):
        return st.one_of(*(values(part) for part in typing.get_args(hint)))
    return st.from_type(hint)


def instances(cls: Any) -> st.SearchStrategy[Any]:
    hints = typing.get_type_hints(cls)
    return st.builds(cls, **{f.name: values(hints[f.name]) for f in dataclasses.fields(cls)})


@pytest.mark.parametrize("cls", typing.get_args(Event), ids=case_name)
@settings(max_examples=20)
@given(data=st.data())
def test_every_stored_event_comes_back_as_it_was(cls: Any, data: st.DataObject) -> None:
    event = data.draw(instances(cls))
    stored = JOURNAL.encode(event).SerializeToString()
    assert JOURNAL.decode(journal_pb2.StoredEvent.FromString(stored)) == event


@pytest.mark.parametrize("cls", typing.get_args(PublicEvent), ids=case_name)
@settings(max_examples=20)
@given(data=st.data())
def test_every_public_event_has_its_message_fields(cls: Any, data: st.DataObject) -> None:
    event = data.draw(instances(cls))
    message = PUBLIC.encode(event)
    assert message.WhichOneof("event") == case_name(cls, "Public")
    inner = getattr(message, case_name(cls, "Public"))
    assert inner == encode(event, type(inner))
    assert {field.name for field in inner.DESCRIPTOR.fields} <= {
        field.name for field in dataclasses.fields(cls)
    }


HIDDEN = {
    "seat_requested": {"hold_id"},
    "seat_paid": {"hold_id"},
    "seat_vacated": {"hold_id"},
    "match_start_requested": {"hold_ids"},
}


def test_public_messages_leave_out_only_the_wallets_names() -> None:
    left_out = {}
    for cls in typing.get_args(PublicEvent):
        case = case_name(cls, "Public")
        message = getattr(events_pb2.Event(), case).DESCRIPTOR
        missing = {f.name for f in dataclasses.fields(cls)} - set(message.fields_by_name)
        if missing:
            left_out[case] = missing
    assert left_out == HIDDEN


@pytest.mark.parametrize(
    ("cls", "message"),
    [
        (RuleSet, common_table_pb2.RuleSet),
        (TableConfig, common_table_pb2.TableConfig),
        (Timer, common_table_pb2.Timer),
        (SealedSeed, journal_pb2.SealedSeed),
        (TurnView, table_pb2.TurnView),
        (RoundView, table_pb2.RoundView),
    ],
)
def test_message_and_dataclass_have_the_same_fields(cls: Any, message: Any) -> None:
    require_same_fields(cls, message.DESCRIPTOR)


@pytest.mark.parametrize(
    ("cls", "message", "added"),
    [
        (SeatView, table_pb2.SeatView, {"display_name"}),
        (TableView, table_pb2.TableView, {"seq", "server_time_ms"}),
    ],
)
def test_view_messages_add_only_what_the_servicer_fills(
    cls: Any, message: Any, added: set[str]
) -> None:
    fields = {f.name for f in dataclasses.fields(cls)}
    assert set(message.DESCRIPTOR.fields_by_name) == fields | added


@given(view=instances(TableView))
def test_a_view_comes_back_from_its_message(view: TableView) -> None:
    message = encode(view, table_pb2.TableView)
    again = table_pb2.TableView.FromString(message.SerializeToString())
    assert decode(TableView, again) == view


@pytest.mark.parametrize(
    ("cls", "message"),
    [
        (Tile, common_pb2.Tile),
        (Phase, table_pb2.Phase),
        (SeatStatus, table_pb2.SeatStatus),
        (Control, table_pb2.Control),
        (LegalAction, table_pb2.LegalAction),
        (TimerKind, common_table_pb2.TimerKind),
    ],
)
def test_enums_have_the_same_members_and_numbers(cls: type[IntEnum], message: Any) -> None:
    prefix = case_name(cls).upper()
    ours = {f"{prefix}_{member.name}": member.value for member in cls}
    assert dict(message.items()) == {f"{prefix}_UNSPECIFIED": 0, **ours}


def test_a_tile_nobody_may_see_is_unspecified() -> None:
    drawn = typing.get_type_hints(PublicTileDrawn)["source"](1)
    message = PUBLIC.encode(PublicTileDrawn(2, drawn, None, False))
    assert message.tile_drawn.tile == common_pb2.TILE_UNSPECIFIED


def test_an_event_of_no_known_case_cannot_be_decoded() -> None:
    with pytest.raises(UndecodableMessage, match="StoredEvent holds no event"):
        JOURNAL.decode(journal_pb2.StoredEvent())


def test_an_enum_number_without_member_cannot_be_decoded() -> None:
    stored = journal_pb2.StoredEvent(
        tile_drawn=journal_pb2.TileDrawn(seat=1, tile=common_pb2.TILE_R1)
    )
    with pytest.raises(UndecodableMessage, match="source is 0"):
        JOURNAL.decode(stored)


def test_a_class_that_is_no_member_is_refused() -> None:
    with pytest.raises(CodecMismatch, match="Timer has no case"):
        JOURNAL.encode(Timer(TimerKind.TURN, 1))


def test_a_union_must_cover_the_oneof() -> None:
    with pytest.raises(CodecMismatch, match="stand on one side only"):
        UnionCodec([SeatPaid, TileDrawn], journal_pb2.StoredEvent, oneof="event")


class Colour(Enum):
    GREEN = "green"


@dataclass(frozen=True)
class Short:
    """Lacks hold_id of SeatPaid."""

    seat: int


@dataclass(frozen=True)
class WrongScalar:
    seat: str
    hold_id: str


@dataclass(frozen=True)
class WrongEnum:
    tile: Colour


@dataclass(frozen=True)
class WrongRepetition:
    seat: tuple[int, ...]


@dataclass(frozen=True)
class WrongRow:
    tiles: tuple[tuple[Tile, ...], ...]


@dataclass(frozen=True)
class WrongNesting:
    tile: SealedSeed


@dataclass(frozen=True)
class TwoTypes:
    seat: int | str


@dataclass(frozen=True)
class EnumInScalar:
    seat: Colour


@dataclass(frozen=True)
class OtherNumbers:
    level: "BotLevel"


class BotLevel(IntEnum):
    EASY = 2
    NORMAL = 1
    STRONG = 3


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (WrongScalar("1", ""), journal_pb2.SeatPaid),
        (WrongEnum(Colour.GREEN), journal_pb2.TileDrawn),
        (WrongRepetition((1,)), journal_pb2.SeatPaid),
        (WrongRow(((Tile.R1,),)), common_table_pb2.Rack),
        (WrongNesting(SealedSeed(b"", b"")), journal_pb2.TileDrawn),
        (TwoTypes(1), journal_pb2.SeatPaid),
        (EnumInScalar(Colour.GREEN), journal_pb2.SeatPaid),
        (OtherNumbers(BotLevel.EASY), journal_pb2.HouseSeated),
    ],
    ids=lambda part: type(part).__name__,
)
def test_types_that_do_not_fit_are_refused_when_the_plan_is_made(value: Any, message: Any) -> None:
    with pytest.raises(CodecMismatch):
        encode(value, message)
    with pytest.raises(CodecMismatch):
        decode(type(value), message())


def test_decoding_needs_every_field_and_storage_the_same_fields() -> None:
    with pytest.raises(CodecMismatch, match="lacks seat"):
        decode(HouseSeated, common_table_pb2.Rack())
    with pytest.raises(CodecMismatch, match="hold_id"):
        require_same_fields(Short, journal_pb2.SeatPaid.DESCRIPTOR)

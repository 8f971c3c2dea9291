"""No RPC takes an id of the house, a service or an account as a player's, nor will a new one."""

from collections.abc import Iterator
from typing import Any

import grpc
import pytest
from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass

from buf.validate import validate_pb2
from okey_runtime.access import Public
from okey_runtime.identity import PlayerReserved
from okey_runtime.validation import check_message, player_fields
from tests.security.rpcs import Rpc, access_of, callee_of, every_rpc
from tests.security.stand import Everything

SUBJECT_PATTERNS = ("^[A-Za-z0-9_.:@-]{1,64}$", "^[A-Za-z0-9_.:@-]{0,64}$")
"""What the protos say of a text that is a token's subject."""
RESERVED = ("house:rake", "system:issuance", "bot:7", "engine", "player:a", "escrow:t", "kasa:t")
NAMING = [rpc for rpc in every_rpc() if player_fields(rpc.request.DESCRIPTOR)]


def naming(kind: type[Message], player: str) -> Iterator[Message]:
    """A message of this kind for each of its fields that names a player, with nothing else set."""
    for field in player_fields(kind.DESCRIPTOR):
        for filled in filled_with(field, player):
            message = kind()
            target = getattr(message, field.name)
            if field.is_repeated:
                target.append(filled)
            elif isinstance(filled, Message):
                target.CopyFrom(filled)
            else:
                setattr(message, field.name, filled)
            yield message


def filled_with(field: FieldDescriptor, player: str) -> Iterator[str | Message]:
    if field.message_type is None:
        yield player
    else:
        yield from naming(GetMessageClass(field.message_type), player)


def subjects_of(kind: Any, above: frozenset[str] = frozenset()) -> Iterator[FieldDescriptor]:
    """The fields that by their rule hold a token's subject."""
    for field in kind.fields:
        rules = field.GetOptions().Extensions[validate_pb2.field]
        if {rules.string.pattern, rules.repeated.items.string.pattern} & {*SUBJECT_PATTERNS}:
            yield field
        nested = field.message_type
        if nested is not None and nested.full_name not in above:
            yield from subjects_of(nested, above | {nested.full_name})


def test_the_walk_finds_the_fields() -> None:
    assert len(NAMING) > 20
    assert {"GrantChips", "HoldStake", "OpenTable", "RecordMatch", "Play", "GetRatings"} <= {
        rpc.name for rpc in NAMING
    }


@pytest.mark.parametrize("rpc", every_rpc(), ids=lambda rpc: rpc.short)
def test_whatever_holds_a_subject_is_checked(rpc: Rpc) -> None:
    """By the name of the field: one that is no player's is named here."""
    for field in subjects_of(rpc.request.DESCRIPTOR):
        assert field in player_fields(field.containing_type), field.full_name


@pytest.mark.parametrize("rpc", NAMING, ids=lambda rpc: rpc.short)
@pytest.mark.parametrize("player", RESERVED)
def test_no_request_names_a_reserved_id(rpc: Rpc, player: str) -> None:
    requests = list(naming(rpc.request, player))
    assert requests
    for request in requests:
        with pytest.raises(PlayerReserved):
            check_message(request)


@pytest.mark.parametrize(
    "rpc", [rpc for rpc in NAMING if not rpc.takes_stream], ids=lambda r: r.short
)
async def test_every_service_refuses_it(world: Everything, rpc: Rpc) -> None:
    rule = access_of(rpc.home).rules()[rpc.path]
    assert not isinstance(rule, Public)
    role = sorted(rule)[0]
    token = world.issuer.token("someone", [role], to=callee_of(rpc.home, role))
    for request in naming(rpc.request, "house:rake"):
        outcome = await world.call(rpc, [request.SerializeToString()], token)
        assert (outcome.code, outcome.reason) == (
            grpc.StatusCode.INVALID_ARGUMENT,
            "PLAYER_RESERVED",
        )

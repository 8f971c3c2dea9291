"""The gate that keeps the released interface: what breaks callers is found, additions are not."""

from pathlib import Path

import pytest
from google.protobuf.descriptor_pb2 import (
    DescriptorProto,
    FieldDescriptorProto,
    FileDescriptorProto,
    FileDescriptorSet,
)

from tools.protos import RELEASED, ProtocError, breaking_changes, write_image

LOBBY = "okey/api/lobby/v1/lobby.proto"


@pytest.fixture
def released() -> FileDescriptorSet:
    return FileDescriptorSet.FromString(RELEASED.read_bytes())


def lobby_of(image: FileDescriptorSet) -> FileDescriptorProto:
    [found] = [file for file in image.file if file.name == LOBBY]
    return found


def message(image: FileDescriptorSet, name: str) -> DescriptorProto:
    [found] = [each for each in lobby_of(image).message_type if each.name == name]
    return found


def found_in(image: FileDescriptorSet, tmp_path: Path) -> str:
    changed = tmp_path / "changed.binpb"
    changed.write_bytes(image.SerializeToString())
    return "\n".join(breaking_changes(changed, RELEASED))


def test_the_protos_break_no_caller_of_the_release(tmp_path: Path) -> None:
    current = tmp_path / "current.binpb"
    write_image(current, tmp_path)
    assert breaking_changes(current, RELEASED) == []


def test_a_field_that_goes_away_is_found(released: FileDescriptorSet, tmp_path: Path) -> None:
    del message(released, "JoinTableRequest").field[0]
    assert 'field "1"' in found_in(released, tmp_path)


def test_a_field_of_another_type_is_found(released: FileDescriptorSet, tmp_path: Path) -> None:
    message(released, "JoinTableRequest").field[0].type = FieldDescriptorProto.TYPE_BYTES
    assert "changed type" in found_in(released, tmp_path)


def test_an_rpc_that_goes_away_is_found(released: FileDescriptorSet, tmp_path: Path) -> None:
    [service] = lobby_of(released).service
    [gone] = [at for at, rpc in enumerate(service.method) if rpc.name == "JoinTable"]
    del service.method[gone]
    assert '"JoinTable"' in found_in(released, tmp_path)


def test_what_is_added_breaks_nobody(released: FileDescriptorSet, tmp_path: Path) -> None:
    message(released, "JoinTableRequest").field.add(
        name="added",
        json_name="added",
        number=999,
        type=FieldDescriptorProto.TYPE_STRING,
        label=FieldDescriptorProto.LABEL_OPTIONAL,
    )
    assert found_in(released, tmp_path) == ""


def test_an_image_that_cannot_be_read_is_no_success(tmp_path: Path) -> None:
    broken = tmp_path / "broken.binpb"
    broken.write_bytes(b"nothing of the kind")
    with pytest.raises(ProtocError, match="buf could not compare"):
        breaking_changes(broken, RELEASED)

"""Messages as JSON, for programs that read what a command says."""

import json
from typing import TypeAlias

from google.protobuf.json_format import MessageToDict
from google.protobuf.message import Message

Document: TypeAlias = dict[str, object]


def document_of(message: Message) -> Document:
    """A message with the protos' names, and with what is zero or empty."""
    return MessageToDict(
        message, preserving_proto_field_name=True, always_print_fields_with_no_presence=True
    )


def json_line(message: Message) -> str:
    """A message as one line of JSON."""
    return json.dumps(document_of(message), ensure_ascii=False)

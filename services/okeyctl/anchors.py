"""The file of exported heads: keep it where nobody who can write to the wallet's database can."""

import json
from pathlib import Path

from google.protobuf.json_format import MessageToDict, ParseDict, ParseError

from okey.api.wallet.v1 import wallet_pb2
from okey_runtime.files import write_atomically


class AnchorFileBroken(Exception):
    """A file holds no exported heads; the message says why."""


def read_anchors(path: Path) -> list[wallet_pb2.Anchor]:
    """Every head of the file. Raises ``AnchorFileBroken``."""
    try:
        document = json.loads(path.read_text("utf-8"))
        return [ParseDict(each, wallet_pb2.Anchor()) for each in document["anchors"]]
    except (OSError, ValueError, KeyError, TypeError, ParseError) as error:
        raise AnchorFileBroken(f"{path} holds no exported heads: {error}") from error


def add_anchors(path: Path, exported: wallet_pb2.ExportAnchorsResponse) -> int:
    """Add the heads to the file, which keeps the earlier ones; how many it holds then.

    Raises ``AnchorFileBroken`` for a file that is there and holds something else.
    """
    known = read_anchors(path) if path.exists() else []
    new = [anchor for anchor in exported.anchors if anchor not in known]
    anchors = [MessageToDict(anchor, preserving_proto_field_name=True) for anchor in [*known, *new]]
    document = {"anchors": anchors, "public_key": json.loads(exported.public_key)}
    write_atomically(path, json.dumps(document, indent=2) + "\n")
    return len(anchors)

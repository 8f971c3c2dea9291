"""The storage format of what is encrypted at rest is frozen: what was written once is opened for
good (ADR 18).
"""

import json
from base64 import b64decode
from pathlib import Path
from typing import Any

import pytest

from okey_runtime.seal_keys import SealKey, SealKeysFile, write_seal_keys
from services.engine.archive import StoredRow
from services.engine.seal_boxes import SealBroken
from services.engine.seals import Seals

FROZEN: dict[str, Any] = json.loads(
    (Path(__file__).parents[2] / "data" / "sealed.json").read_text("utf-8")
)
TABLE_ID: str = FROZEN["table_id"]
KEY = SealKey(FROZEN["key"]["made"], b64decode(FROZEN["key"]["secret"]))


@pytest.fixture
def seals(tmp_path: Path) -> Seals:
    write_seal_keys(tmp_path / "seal-keys", (KEY,))
    return Seals(SealKeysFile(tmp_path / "seal-keys"))


def sealed_rows() -> list[StoredRow]:
    return [StoredRow(row["seq"], 1, bytes.fromhex(row["sealed"]), None) for row in FROZEN["rows"]]


def plain_rows() -> list[bytes]:
    return [bytes.fromhex(row["plain"]) for row in FROZEN["rows"]]


def test_the_id_of_a_key_follows_from_its_secret() -> None:
    assert KEY.key_id == FROZEN["key"]["key_id"]


def test_the_sample_holds_a_seed_a_nonce_a_deal_and_a_draw() -> None:
    kinds = {kind for row in FROZEN["rows"] for kind in row["events"]}
    assert {"TableOpened", "NonceAdded", "RoundDealt", "TileDrawn"} <= kinds


def test_rows_open_to_what_was_written(seals: Seals) -> None:
    opened = seals.opened(TABLE_ID, sealed_rows())
    assert opened.missing == {}
    assert [row.payload for row in opened.rows] == plain_rows()


def test_the_snapshot_opens_to_what_was_written(seals: Seals) -> None:
    kept = FROZEN["snapshot"]
    opened = seals.open_snapshot(TABLE_ID, kept["seq"], bytes.fromhex(kept["sealed"]))
    assert opened == bytes.fromhex(kept["plain"])


def test_without_the_key_nothing_hidden_is_there() -> None:
    opened = Seals().opened(TABLE_ID, sealed_rows())
    assert set(opened.missing.values()) == {KEY.key_id}
    assert all(row.payload not in plain_rows() for row in opened.rows)


def test_a_row_of_another_table_does_not_open(seals: Seals) -> None:
    with pytest.raises(SealBroken):
        seals.opened(TABLE_ID[:-1] + "x", sealed_rows())

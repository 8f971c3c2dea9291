"""``okeyctl keys``: a key is added, shown and removed; no secret is ever shown."""

from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from okey_runtime.keys import KeyFileBroken
from okey_runtime.seal_keys import SealKeysFile, read_seal_keys, rotate_seal_keys
from services.okeyctl.app import app


def keys(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["keys", *arguments])


def test_rotating_makes_the_file_and_then_puts_a_newer_key_before_the_others(
    tmp_path: Path,
) -> None:
    file = tmp_path / "seal-keys"
    assert keys("rotate", str(file)).exit_code == 0
    [first] = read_seal_keys(file)
    said = keys("rotate", str(file))
    newest, older = read_seal_keys(file)
    assert older == first
    assert newest.key_id in said.output
    assert f"okeyctl keys drop {file} {first.key_id}" in said.output
    assert file.stat().st_mode & 0o777 == 0o600


def test_the_list_shows_ids_and_no_secret(tmp_path: Path) -> None:
    file = tmp_path / "seal-keys"
    key = rotate_seal_keys(file)
    assert keys("list", str(file)).output == f"{key.key_id} {key.made}\n"


def test_an_older_key_is_dropped_and_the_newest_never(tmp_path: Path) -> None:
    file = tmp_path / "seal-keys"
    older = rotate_seal_keys(file)
    newest = rotate_seal_keys(file)
    refused = keys("drop", str(file), newest.key_id)
    assert (refused.exit_code, "newest key" in refused.output) == (2, True)
    unknown = keys("drop", str(file), "00000000")
    assert (unknown.exit_code, "has no key 00000000" in unknown.output) == (2, True)
    assert keys("drop", str(file), older.key_id).exit_code == 0
    assert read_seal_keys(file) == (newest,)


@pytest.mark.parametrize(
    ("spoil", "why"),
    [
        (lambda text: "", "holds no key"),
        (lambda text: text + text, "twice"),
        (lambda text: text[:-6] + "\n", "line 1"),
        (lambda text: text.replace(" ", " x ", 1), "line 1"),
        (lambda text: "00000000" + text[8:], "not that of key 00000000"),
        (lambda text: text + "ç", "cannot be read"),
    ],
)
def test_a_file_that_is_no_key_file_is_refused_and_left_alone(
    tmp_path: Path, spoil: object, why: str
) -> None:
    file = tmp_path / "seal-keys"
    rotate_seal_keys(file)
    assert callable(spoil)
    spoiled = str(spoil(file.read_text()))
    file.write_text(spoiled)
    with pytest.raises(KeyFileBroken, match=why):
        read_seal_keys(file)
    assert keys("rotate", str(file)).exit_code == 2
    assert file.read_text() == spoiled


def test_a_broken_change_leaves_the_keys_as_they_are(tmp_path: Path) -> None:
    file = tmp_path / "seal-keys"
    key = rotate_seal_keys(file)
    kept = SealKeysFile(file)
    file.write_text("nonsense")
    kept.reload_if_changed()
    assert kept.keys == (key,)
    file.unlink()
    newer = rotate_seal_keys(file)
    kept.reload_if_changed()
    assert kept.keys == (newer,)

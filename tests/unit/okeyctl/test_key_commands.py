"""``okeyctl keys``: a key is added, shown and removed; no secret is ever shown."""

from collections.abc import Sequence
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from okey.api.common.v1 import status_pb2
from okey.api.engine.v1 import engine_pb2
from okey_runtime.keys import KeyFileBroken
from okey_runtime.seal_keys import SealKeysFile, read_seal_keys, rotate_seal_keys
from services.okeyctl.app import app
from services.okeyctl.doctor.observe import Observed, Seen
from services.okeyctl.key_use import reasons_to_keep


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


def test_a_key_is_not_dropped_where_no_engine_can_be_asked(tmp_path: Path) -> None:
    file = tmp_path / "seal-keys"
    older = rotate_seal_keys(file)
    newest = rotate_seal_keys(file)
    nowhere = keys("drop", str(file), older.key_id, "--data-dir", str(tmp_path))
    token = tmp_path / "token"
    token.write_text("t")
    closed = ("--engine", "127.0.0.1:1", "--token-file", str(token))
    silent = keys("drop", str(file), older.key_id, *closed)
    assert (nowhere.exit_code, silent.exit_code) == (2, 2)
    assert f"{older.key_id} stays in {file}" in silent.output
    assert read_seal_keys(file) == (newest, older)
    assert keys("drop", str(file), older.key_id, "--force").exit_code == 0
    assert read_seal_keys(file) == (newest,)


KEY = "a51737e5"


def an_engine(
    name: str = "one",
    keys: str = "key 99999999",
    tables: status_pb2.CheckState.ValueType = status_pb2.CHECK_STATE_OK,
    unloaded: int = 0,
) -> Seen:
    checks = [
        status_pb2.StatusCheck(name="seal keys", state=status_pb2.CHECK_STATE_OK, text=keys),
        status_pb2.StatusCheck(name="tables", state=tables, text="2 tables stand still"),
    ]
    figures = {"unloaded tables": unloaded}
    status = status_pb2.GetStatusResponse(name=name, checks=checks, figures=figures)
    return Seen("engine", f"{name}:7400", name, status=status)


def observed(*seen: Seen, members: Sequence[str] = ("one",)) -> Observed:
    engines = [engine_pb2.EngineMember(engine=name, lease_left_ms=1) for name in members]
    ended = engine_pb2.EngineMember(engine="dead")
    return Observed(seen, {}, engine_pb2.ListShardsResponse(engines=[*engines, ended]))


def test_a_key_that_every_engine_can_do_without_may_go() -> None:
    two = observed(an_engine(), an_engine("two"), members=("one", "two"))
    assert reasons_to_keep(KEY, two) == []


@pytest.mark.parametrize(
    ("seen", "why"),
    [
        (observed(an_engine(keys=f"key 99999999; 3 tables need {KEY}")), f"3 tables need {KEY}"),
        (observed(an_engine(keys=f"key {KEY}")), f"key {KEY}"),
        (observed(an_engine(tables=status_pb2.CHECK_STATE_WARNING)), "2 tables stand still"),
        (observed(an_engine(unloaded=4)), "4 tables still to load"),
        (observed(an_engine(), members=("one", "two")), "two is a member and was not asked"),
        (observed(Seen("engine", "one:7400", "one", unreachable="refused")), "refused"),
        (
            observed(Seen("engine", "one:7400", "one", status=status_pb2.GetStatusResponse())),
            "seal",
        ),
        (Observed((), {"engine": "no such name"}), "no such name"),
    ],
)
def test_a_key_stays_while_it_is_needed_or_nobody_knows(seen: Observed, why: str) -> None:
    assert any(why in reason for reason in reasons_to_keep(KEY, seen))


def test_an_older_key_is_dropped_and_the_newest_never(tmp_path: Path) -> None:
    file = tmp_path / "seal-keys"
    older = rotate_seal_keys(file)
    newest = rotate_seal_keys(file)
    refused = keys("drop", str(file), newest.key_id)
    assert (refused.exit_code, "newest key" in refused.output) == (2, True)
    unknown = keys("drop", str(file), "00000000")
    assert (unknown.exit_code, "has no key 00000000" in unknown.output) == (2, True)
    assert keys("drop", str(file), older.key_id, "--force").exit_code == 0
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

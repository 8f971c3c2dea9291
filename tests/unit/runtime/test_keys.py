import json
import stat
import warnings
from pathlib import Path

import pytest
from joserfc.jwk import ECKey, OctKey, OKPKey, RSAKey

from okey_runtime.keys import (
    JwksFile,
    KeyFileBroken,
    create_signing_key,
    load_signing_key,
    write_jwks,
)

with warnings.catch_warnings(action="ignore"):
    SHORT_RSA = RSAKey.generate_key(1024, {"kid": "k"}).as_dict(private=False)


def test_a_new_signing_key_can_be_read_by_its_owner_only(tmp_path: Path) -> None:
    create_signing_key(tmp_path / "key")
    assert stat.S_IMODE((tmp_path / "key").stat().st_mode) == 0o600


def test_a_signing_key_is_never_overwritten(tmp_path: Path) -> None:
    create_signing_key(tmp_path / "key")
    with pytest.raises(FileExistsError):
        create_signing_key(tmp_path / "key")


def test_a_stored_signing_key_is_read_back(tmp_path: Path) -> None:
    key = create_signing_key(tmp_path / "key", "mine")
    read = load_signing_key(tmp_path / "key")
    assert read.as_dict(private=True) == key.as_dict(private=True)
    assert read.kid == "mine"


def test_a_signing_key_that_others_can_read_is_refused(tmp_path: Path) -> None:
    create_signing_key(tmp_path / "key")
    (tmp_path / "key").chmod(0o640)
    with pytest.raises(KeyFileBroken, match="read by others"):
        load_signing_key(tmp_path / "key")


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"kty": "OKP"}'])
def test_a_file_that_holds_no_signing_key_is_refused(tmp_path: Path, content: str) -> None:
    (tmp_path / "key").write_text(content)
    (tmp_path / "key").chmod(0o600)
    with pytest.raises(KeyFileBroken):
        load_signing_key(tmp_path / "key")


def test_a_public_key_does_not_sign(tmp_path: Path) -> None:
    public = create_signing_key(tmp_path / "key").as_dict(private=False)
    (tmp_path / "key").write_text(json.dumps(public))
    with pytest.raises(KeyFileBroken, match="no private key"):
        load_signing_key(tmp_path / "key")


def test_a_jwks_file_fixes_each_keys_algorithm(tmp_path: Path) -> None:
    ed25519 = OKPKey.generate_key("Ed25519", {"kid": "e"})
    rsa = RSAKey.generate_key(2048, {"kid": "r"})
    write_jwks(tmp_path / "jwks", ed25519, rsa)
    keys = JwksFile(tmp_path / "jwks")
    algorithms = {name: key.algorithm for name in ("e", "r") if (key := keys.find(name))}
    assert algorithms == {"e": "EdDSA", "r": "RS256"}
    assert keys.find("other") is None


def test_a_written_jwks_file_holds_no_private_part(tmp_path: Path) -> None:
    write_jwks(tmp_path / "jwks", RSAKey.generate_key(2048, {"kid": "r"}))
    assert set(json.loads((tmp_path / "jwks").read_text())["keys"][0]) & set("dpq") == set()


@pytest.mark.filterwarnings("ignore:Key size should be")
@pytest.mark.parametrize(
    ("key", "why"),
    [
        (OKPKey.generate_key("Ed25519", {"kid": "k"}).as_dict(private=True), "public keys only"),
        (OctKey.generate_key(256, {"kid": "k"}).as_dict(private=True), "public keys only"),
        (OKPKey.generate_key("X25519", {"kid": "k"}).as_dict(private=False), "neither"),
        (ECKey.generate_key("P-256", {"kid": "k"}).as_dict(private=False), "neither"),
        (SHORT_RSA, "neither"),
        (OKPKey.generate_key("Ed25519", {"kid": ""}).as_dict(private=False), "'kid'"),
    ],
    ids=["private", "symmetric", "x25519", "ec", "short rsa", "no kid"],
)
def test_a_jwks_file_with_a_key_that_cannot_be_trusted_is_refused(
    tmp_path: Path, key: dict[str, str | list[str]], why: str
) -> None:
    (tmp_path / "jwks").write_text(json.dumps({"keys": [key]}))
    with pytest.raises(KeyFileBroken, match=why):
        JwksFile(tmp_path / "jwks")


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"keys": []}', '{"keys": [{}]}'])
def test_a_file_that_is_no_jwks_is_refused_at_the_start(tmp_path: Path, content: str) -> None:
    (tmp_path / "jwks").write_text(content)
    with pytest.raises(KeyFileBroken, match="jwks"):
        JwksFile(tmp_path / "jwks")


def test_two_keys_of_one_id_are_refused(tmp_path: Path) -> None:
    write_jwks(tmp_path / "jwks", *(OKPKey.generate_key("Ed25519", {"kid": "k"}) for _ in "ab"))
    with pytest.raises(KeyFileBroken, match="twice"):
        JwksFile(tmp_path / "jwks")


def test_a_changed_jwks_file_is_taken_over(tmp_path: Path) -> None:
    write_jwks(tmp_path / "jwks", OKPKey.generate_key("Ed25519", {"kid": "old"}))
    keys = JwksFile(tmp_path / "jwks")
    write_jwks(tmp_path / "jwks", OKPKey.generate_key("Ed25519", {"kid": "new"}))
    keys.reload_if_changed()
    assert keys.find("old") is None
    assert keys.find("new") is not None
    assert keys.generation == 1


@pytest.mark.parametrize("change", ["broken", "gone"])
def test_a_broken_change_leaves_the_trusted_keys_as_they_are(tmp_path: Path, change: str) -> None:
    write_jwks(tmp_path / "jwks", OKPKey.generate_key("Ed25519", {"kid": "old"}))
    keys = JwksFile(tmp_path / "jwks")
    if change == "broken":
        (tmp_path / "jwks").write_text("{")
    else:
        (tmp_path / "jwks").unlink()
    keys.reload_if_changed()
    assert keys.find("old") is not None
    assert keys.generation == 0

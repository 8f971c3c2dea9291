"""Keys that sign and verify tokens: a JWKS file that is re-read when it changes, and keys made for
development.

Only Ed25519 and RSA keys are trusted, each for exactly one algorithm, so that a token cannot choose
how it is checked.
"""

import json
import os
import secrets
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from joserfc.errors import JoseError
from joserfc.jwk import KeySet, OKPKey, RSAKey

from okey_runtime.files import FileStamp, write_atomically
from okey_runtime.logging import get_logger

DEV_KEY_ID: Final = "dev"
"""The id of every development key."""

_MIN_RSA_BITS: Final = 2048
_log = get_logger(__name__)


class KeyFileBroken(Exception):
    """A key file is missing, unreadable or holds keys that are not trusted; the message says which
    and why.
    """


@dataclass(frozen=True, slots=True)
class VerifyingKey:
    """A public key and the one algorithm it is good for (``EdDSA`` or ``RS256``)."""

    key: OKPKey | RSAKey
    algorithm: str


class JwksFile:
    """The trusted keys of a JWKS file by key id; a changed file is taken over, a broken change is
    not.

    ``allows_dev_key`` says whether the file may hold a development key.

    Raises:
        KeyFileBroken: the file cannot be used when the service starts.
    """

    def __init__(self, path: Path, *, allows_dev_key: bool = True) -> None:
        self._path = path
        self._allows_dev_key = allows_dev_key
        self._stamp = FileStamp.of(path)
        self._keys = self._read()
        self.generation = 0
        """Grows with every change taken over; whatever was verified under an older one is void."""

    def reload_if_changed(self) -> None:
        """Take the file over if it has changed; a file that cannot be used leaves the keys as they
        are and is logged.
        """
        stamp = FileStamp.of(self._path)
        if stamp == self._stamp:
            return
        self._stamp = stamp
        try:
            self._keys = self._read()
        except KeyFileBroken as error:
            _log.error("jwks_change_refused", path=str(self._path), error=str(error))
            return
        self.generation += 1
        _log.info("jwks_reloaded", path=str(self._path), key_ids=sorted(self._keys))

    def _read(self) -> dict[str, VerifyingKey]:
        keys = _read_jwks(self._path)
        if DEV_KEY_ID in keys and not self._allows_dev_key:
            raise KeyFileBroken(
                f"{self._path}: key {DEV_KEY_ID!r} is a development key, which production "
                "refuses under any issuer: publish the issuer's own keys"
            )
        return keys

    @property
    def key_ids(self) -> list[str]:
        """The ids of the keys that are trusted now, sorted."""
        return sorted(self._keys)

    def find(self, key_id: str) -> VerifyingKey | None:
        """The key of that id, or None."""
        return self._keys.get(key_id)


def create_signing_key(path: Path, key_id: str = DEV_KEY_ID) -> OKPKey:
    """Make a random Ed25519 key and store it at ``path``, readable by its owner only.

    Raises:
        FileExistsError: there is a file already; a key is never overwritten.
    """
    key = OKPKey.generate_key("Ed25519", {"kid": key_id, "use": "sig"}, private=True)
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w") as file:
        json.dump(key.as_dict(private=True), file)
    return key


def signing_key_at(path: Path, key_id: str = DEV_KEY_ID) -> OKPKey:
    """The key at ``path``; a random one is made and stored (mode 0600) where there is none.

    Raises:
        KeyFileBroken: the file holds no key, or others may read it.
    """
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    try:
        return create_signing_key(path, key_id)
    except FileExistsError:
        return load_signing_key(path)


def make_chain_key(path: Path) -> str:
    """Make a key that signs the wallet's chain, under an id of its own; the id.

    Raises:
        FileExistsError: there is a file already.
    """
    key_id = f"chain-{secrets.token_hex(4)}"
    create_signing_key(path, key_id)
    return key_id


def load_signing_key(path: Path) -> OKPKey:
    """Read a key that ``create_signing_key`` has stored.

    Raises:
        KeyFileBroken: the file is missing, holds no private Ed25519 key, or others may read it.
    """
    try:
        if path.stat().st_mode & 0o077:
            raise KeyFileBroken(f"{path} can be read by others: chmod 600 it, or make a new key")
        key = OKPKey.import_key(json.loads(path.read_text()))
    except (OSError, ValueError, JoseError) as error:
        raise KeyFileBroken(f"{path} holds no signing key: {error}") from error
    if not key.is_private or key.kid is None:
        raise KeyFileBroken(f"{path} holds no private key with a key id: make a new one")
    return key


def write_jwks(path: Path, *keys: OKPKey | RSAKey) -> None:
    """Write the public halves of the keys as a JWKS file, all at once."""
    write_atomically(path, json.dumps({"keys": [key.as_dict(private=False) for key in keys]}))


def _read_jwks(path: Path) -> dict[str, VerifyingKey]:
    try:
        key_set = KeySet.import_key_set(json.loads(path.read_text()))
    except (OSError, ValueError, KeyError, TypeError, JoseError) as error:
        raise KeyFileBroken(f"{path} is no JWKS file: {error}") from error
    keys: dict[str, VerifyingKey] = {}
    for key in key_set.keys:
        if not key.kid or key.kid in keys:
            raise KeyFileBroken(
                f"{path}: each key needs a 'kid' of its own, {key.kid!r} is missing or twice"
            )
        if key.is_private:
            raise KeyFileBroken(
                f"{path}: key {key.kid!r} is private or a secret; "
                "a JWKS file holds public keys only"
            )
        if isinstance(key, OKPKey) and key.curve_name == "Ed25519":
            keys[key.kid] = VerifyingKey(key, "EdDSA")
        elif isinstance(key, RSAKey) and key.raw_value.key_size >= _MIN_RSA_BITS:
            keys[key.kid] = VerifyingKey(key, "RS256")
        else:
            raise KeyFileBroken(
                f"{path}: key {key.kid!r} is neither Ed25519 "
                f"nor RSA of {_MIN_RSA_BITS} bits or more"
            )
    if not keys:
        raise KeyFileBroken(f"{path} holds no key: put the issuer's public keys there")
    return keys

"""A chain of blocks over the journals: SHA-256 links them, Ed25519 signs each.

A block's digest covers the digest before it and the content of its journals, so the newest one
stands for everything. The signing key is not in the database: whoever can write there can change
journals and hash anew, but not sign.
"""

import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from joserfc.errors import JoseError
from joserfc.jwk import OKPKey

from okey_runtime.keys import JwksFile, KeyFileBroken, load_signing_key

FIRST_DIGEST: Final = "0" * 64
"""What the first block follows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """A sealed block: the journals ``first_journal`` to ``last_journal`` but for the missing ones.

    ``missing`` is written as numbers and ranges (``7,12-15``): journals that were rolled back, or
    had not committed yet. Such a latecomer is sealed later, alone in a block of its own.
    """

    block_no: int
    first_journal: int
    last_journal: int
    missing: str
    journal_count: int
    content_digest: str
    digest: str
    sealed_ms: int
    key_id: str
    signature: str

    def digest_after(self, previous: str) -> str:
        """What the digest has to be after the previous block's."""
        lines = (
            "okey-chain-1",
            self.block_no,
            previous,
            self.first_journal,
            self.last_journal,
            self.missing,
            self.journal_count,
            self.content_digest,
            self.sealed_ms,
            self.key_id,
        )
        return hashlib.sha256("\n".join(map(str, lines)).encode()).hexdigest()

    @property
    def head(self) -> "Head":
        """What is exported of it."""
        return Head(
            block_no=self.block_no,
            digest=self.digest,
            last_journal=self.last_journal,
            sealed_ms=self.sealed_ms,
            key_id=self.key_id,
            signature=self.signature,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Head:
    """A signed head: number and digest are what is signed."""

    block_no: int
    digest: str
    last_journal: int
    sealed_ms: int
    key_id: str
    signature: str


class ChainKeys:
    """The key that signs, and those that are trusted: its own and the ones before it."""

    def __init__(self, signing: OKPKey, older: JwksFile | None = None) -> None:
        if signing.kid is None or not isinstance(signing.private_key, Ed25519PrivateKey):
            raise KeyFileBroken("the chain needs a private Ed25519 key with a key id")
        self.key_id: Final = signing.kid
        self.public_jwk: Final = {
            name: str(value) for name, value in signing.as_dict(private=False).items()
        }
        self._private = signing.private_key
        self._older = older

    @classmethod
    def load(cls, key_file: Path, older_file: Path | None) -> "ChainKeys":
        """The key of a file, and the public ones of a JWKS file. Raises ``KeyFileBroken``."""
        older = None if older_file is None else JwksFile(older_file)
        return cls(load_signing_key(key_file), older)

    @classmethod
    def parse(cls, key: str, older_file: Path | None) -> "ChainKeys":
        """The same from the key's JSON text. Raises ``KeyFileBroken``."""
        older = None if older_file is None else JwksFile(older_file)
        try:
            return cls(OKPKey.import_key(json.loads(key)), older)
        except (ValueError, TypeError, JoseError):
            # What the parser says might quote the key.
            raise KeyFileBroken("OKEY_CHAIN_KEY holds no Ed25519 key as a JWK") from None

    def sign(self, block_no: int, digest: str) -> str:
        """The signature of a head, as hex."""
        return self._private.sign(_signed(block_no, digest)).hex()

    def has_signed(self, head: Head) -> bool:
        """Whether a trusted key has signed the head."""
        key = self._public_key(head.key_id)
        if key is None:
            return False
        try:
            key.verify(bytes.fromhex(head.signature), _signed(head.block_no, head.digest))
        except (InvalidSignature, ValueError):
            return False
        return True

    def _public_key(self, key_id: str) -> Ed25519PublicKey | None:
        if key_id == self.key_id:
            return self._private.public_key()
        older = None if self._older is None else self._older.find(key_id)
        public = None if older is None else older.key.public_key
        return public if isinstance(public, Ed25519PublicKey) else None


def _signed(block_no: int, digest: str) -> bytes:
    return f"okey-head-1\n{block_no}\n{digest}".encode()


def content_digest(journals: str, postings: str) -> str:
    """The digest of what a block holds, from the digests of both tables' canonical text."""
    return hashlib.sha256(f"{journals}\n{postings}".encode()).hexdigest()


def gaps(first: int, present: Sequence[int]) -> str:
    """The numbers from ``first`` to the last of ``present`` that are not among them."""
    found = []
    expected = first
    for number in present:
        if number > expected:
            found.append((expected, number - 1))
        expected = number + 1
    return ",".join(f"{low}" if low == high else f"{low}-{high}" for low, high in found)


def ranges(missing: str) -> Iterable[tuple[int, int]]:
    """The ranges of such a text, ends included."""
    for part in filter(None, missing.split(",")):
        low, _, high = part.partition("-")
        yield int(low), int(high or low)

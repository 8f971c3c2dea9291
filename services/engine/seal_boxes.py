"""Boxes of what is encrypted at rest, and the keys that follow from a secret (ADR 18)."""

import os
from hashlib import sha256
from typing import Final

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from okey_runtime.codec import UndecodableMessage

_NONCE_BYTES: Final = 12
_ROUND_BYTES: Final = 8


class SealBroken(UndecodableMessage):
    """What was encrypted does not decrypt with its own key: somebody has changed or moved it."""


def commitment(seed: bytes) -> bytes:
    """What players saw of the seed before its round."""
    return sha256(seed).digest()


def round_of(commitment: bytes) -> bytes:
    """The round of a seed with that commitment, in short."""
    return commitment[:_ROUND_BYTES]


def key_for(secret: bytes, purpose: str, table_id: str) -> AESGCM:
    """A key of its own for each purpose and table, so that no box of one opens as another's."""
    info = f"okey-seal-1 {purpose} {table_id}".encode()
    return AESGCM(HKDF(SHA256(), 32, salt=None, info=info).derive(secret))


def put_in_box(key: AESGCM, content: bytes, place: str) -> bytes:
    """The content encrypted, bound to its place."""
    nonce = os.urandom(_NONCE_BYTES)
    return nonce + key.encrypt(nonce, content, place.encode())


def take_out(key: AESGCM, box: bytes, place: str) -> bytes:
    """The content of a box from that place. Raises ``SealBroken``."""
    try:
        return key.decrypt(box[:_NONCE_BYTES], box[_NONCE_BYTES:], place.encode())
    except (InvalidTag, ValueError) as error:
        raise SealBroken(
            f"what is encrypted at row and event {place} was changed, or belongs elsewhere"
        ) from error

"""The chain's own arithmetic: gaps between numbers, digests, keys."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from joserfc.jwk import OKPKey

from okey_runtime.keys import KeyFileBroken
from services.wallet.chain import FIRST_DIGEST, Block, ChainKeys, gaps, ranges

BLOCK = Block(
    block_no=1,
    first_journal=1,
    last_journal=3,
    missing="2",
    journal_count=2,
    content_digest="c" * 64,
    digest="d" * 64,
    sealed_ms=5,
    key_id="chain",
    signature="",
)


@given(st.sets(st.integers(1, 60), min_size=1))
def test_gaps_name_exactly_what_is_not_there(present: set[int]) -> None:
    """M5: what a block does not hold can be told later from what came to it."""
    missing = gaps(1, sorted(present))
    named = {number for low, high in ranges(missing) for number in range(low, high + 1)}
    assert named == set(range(1, max(present) + 1)) - present


@pytest.mark.parametrize(
    "changed",
    [
        replace(BLOCK, block_no=2),
        replace(BLOCK, first_journal=2),
        replace(BLOCK, last_journal=4),
        replace(BLOCK, missing=""),
        replace(BLOCK, journal_count=3),
        replace(BLOCK, content_digest="e" * 64),
        replace(BLOCK, sealed_ms=6),
        replace(BLOCK, key_id="other"),
    ],
)
def test_a_digest_covers_everything_that_a_block_says(changed: Block) -> None:
    """M5: but for itself and its signature."""
    assert changed.digest_after(FIRST_DIGEST) != BLOCK.digest_after(FIRST_DIGEST)


def test_a_digest_covers_the_one_before() -> None:
    """M5: so the newest stands for all."""
    assert BLOCK.digest_after("1" * 64) != BLOCK.digest_after(FIRST_DIGEST)


def test_a_signature_is_for_its_number_and_digest_alone() -> None:
    """M5: and for nothing that is no signature."""
    keys = ChainKeys(OKPKey.generate_key("Ed25519", {"kid": "chain"}, private=True))
    signed = replace(BLOCK, signature=keys.sign(1, BLOCK.digest)).head
    assert keys.has_signed(signed)
    assert not keys.has_signed(replace(signed, block_no=2))
    assert not keys.has_signed(replace(signed, digest="e" * 64))
    assert not keys.has_signed(replace(signed, key_id="other"))
    assert not keys.has_signed(replace(signed, signature="no hex"))


def test_a_public_key_signs_nothing() -> None:
    """M5: a wallet with the wrong file says so at its start."""
    key = OKPKey.generate_key("Ed25519", {"kid": "chain"}, private=True)
    public = OKPKey.import_key(key.as_dict(private=False))
    with pytest.raises(KeyFileBroken):
        ChainKeys(public)

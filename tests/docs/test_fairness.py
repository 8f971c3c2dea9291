"""The JavaScript of docs/fairness.md derives the deals that the platform deals (T9)."""

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from okey.rules.deal import DealContext, commit, shuffle
from tests.docs.blocks import all_blocks

NODE = shutil.which("node")
SEEDS = (bytes(range(32)), bytes(reversed(range(32))), b"\xff" * 32)
NONCES = ((b"\x22" * 32, b""), (b"", b"\x11" * 32, b"\x33" * 32, b""))

RUN = """
import { commitment, shuffle } from "./deal.mjs";
const given = JSON.parse(process.argv[2]);
const bytes = (hex) => Buffer.from(hex, "hex");
const [seed, nonces] = [bytes(given[0]), given[1].map(bytes)];
console.log(JSON.stringify({ commitment: commitment(seed), ...shuffle(seed, "%s", 3, 2, nonces) }));
"""
TABLE = "t" * 26


@pytest.mark.skipif(NODE is None, reason="NOT CHECKED: node is missing: apt-get install nodejs")
@pytest.mark.parametrize("nonces", NONCES, ids=len)
@pytest.mark.parametrize("seed", SEEDS, ids=lambda seed: seed[:2].hex())
def test_it_deals_as_the_platform(seed: bytes, nonces: tuple[bytes, ...], tmp_path: Path) -> None:
    assert NODE is not None
    [program] = [
        block
        for block in all_blocks()
        if (block.page, block.language) == ("docs/fairness.md", "js")
    ]
    (tmp_path / "deal.mjs").write_text(program.text)
    (tmp_path / "run.mjs").write_text(RUN % TABLE)
    given = json.dumps([seed.hex(), [nonce.hex() for nonce in nonces]])
    done = subprocess.run(
        [NODE, tmp_path / "run.mjs", given], capture_output=True, text=True, check=True
    )
    deck = shuffle(seed, DealContext(TABLE, 3, 2, nonces))
    assert json.loads(done.stdout) == {
        "commitment": commit(seed).hex(),
        "firstDealer": deck.first_dealer,
        "gosterge": str(deck.gosterge),
        "tiles": [str(tile) for tile in deck.tiles],
    }

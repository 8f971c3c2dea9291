"""``okeyctl keys``: the file of keys that running rounds are encrypted with in the database."""

import asyncio
import json
from pathlib import Path
from typing import Annotated

import typer

from okey_runtime.dev_platform import DEFAULT_DATA_DIR
from okey_runtime.seal_keys import (
    SealKey,
    read_seal_keys,
    rotate_seal_keys,
    write_seal_keys,
)
from services.okeyctl.ending import refusals, refuse
from services.okeyctl.key_use import observe_engines, reasons_to_keep
from services.okeyctl.options import AsJsonLines, DataDir, EngineAddress, TokenFile
from services.okeyctl.reach import reach

app = typer.Typer(
    help="Keys of running rounds.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

File = Annotated[Path, typer.Argument(metavar="FILE", help="The file of OKEY_SEAL_KEYS_FILE.")]


@app.callback()
def group() -> None:
    """Make, rotate and show the keys that running rounds are encrypted with in the database."""


@app.command()
def rotate(file: File) -> None:
    """Add a fresh key as the newest; make the file where there is none.

    Engines read the file again when it changes, and use the key once all of them have it. The older
    keys stay: `okeyctl doctor` shows which ones tables still need, and `okeyctl keys drop` removes
    one that none needs.
    """
    with refusals():
        older = read_seal_keys(file) if file.exists() else ()
        try:
            fresh = rotate_seal_keys(file)
        except OSError as error:
            refuse(f"no key was made: {error}")
    print(f"{file}: {fresh.key_id} is the newest key; keep a copy where the database is not")
    for key in older:
        print(
            f"{key.key_id} may go once no engine needs it, which this asks: "
            f"okeyctl keys drop {file} {key.key_id}"
        )


@app.command("list")
def show(file: File, as_json: AsJsonLines = False) -> None:
    """Show ids and days of the keys, newest first; no secret."""
    with refusals():
        keys = read_seal_keys(file)
    for key in keys:
        shown = {"key_id": key.key_id, "made": key.made}
        print(json.dumps(shown) if as_json else f"{key.key_id} {key.made}")


@app.command()
def drop(
    file: File,
    key_id: Annotated[str, typer.Argument(metavar="KEY", help="Its id; not the newest one's.")],
    force: Annotated[
        bool, typer.Option("--force", help="Ask no engine: rounds that need the key are voided.")
    ] = False,
    data_dir: DataDir = DEFAULT_DATA_DIR,
    engine: EngineAddress = None,
    token_file: TokenFile = None,
) -> None:
    """Remove a key that no table needs any more.

    Every engine is asked first; while one needs the key or cannot say, nothing is removed. With
    --force, a table that needs it loses its running round: the match is voided, stakes go back.
    """
    with refusals():
        left = _without(read_seal_keys(file), key_id, file)
        if not force:
            way = reach("engine", data_dir, engine, token_file)
            against = reasons_to_keep(key_id, asyncio.run(observe_engines(way)))
            if against:
                refuse(
                    f"{key_id} stays in {file}: {'; '.join(against)}. Try again later, or give "
                    "--force to void the rounds that need it"
                )
        write_seal_keys(file, left)
    print(f"{file}: {key_id} is removed")


def _without(keys: tuple[SealKey, ...], key_id: str, file: Path) -> tuple[SealKey, ...]:
    if key_id == keys[0].key_id:
        refuse(f"{key_id} is the newest key of {file}: rotate first, so that another one is used")
    left = tuple(key for key in keys if key.key_id != key_id)
    if len(left) == len(keys):
        refuse(f"{file} has no key {key_id}: `okeyctl keys list {file}` shows what it has")
    return left

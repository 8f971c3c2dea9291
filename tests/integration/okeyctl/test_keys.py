"""``okeyctl keys drop`` asks a real engine whether one of its tables needs the key."""

import asyncio
from pathlib import Path

from typer.testing import CliRunner, Result

from okey_runtime.identity import Role
from okey_runtime.seal_keys import read_seal_keys, rotate_seal_keys
from services.okeyctl.app import app
from tests.integration.engine.platform import Platform, platform


async def drop(world: Platform, file: Path, key_id: str, *options: str) -> Result:
    token = file.with_name("operator.jwt")
    token.write_text(world.issuer.token("olga", [Role.OPERATOR], to="engine"))
    way = ("--engine", world.engine_address, "--token-file", str(token))
    command = ["keys", "drop", str(file), key_id, *way, *options]
    return await asyncio.to_thread(CliRunner().invoke, app, command)


async def test_a_key_that_a_table_needs_is_not_dropped(tmp_path: Path) -> None:
    file = tmp_path / "seal-keys"
    unused, used = rotate_seal_keys(file), rotate_seal_keys(file)
    async with platform(tmp_path, engines=0) as world:
        engine = await world.start_beside("one", seal_keys_file=file)
        world.engine_address = engine.address
        await world.open_table("anna")
        assert (await drop(world, file, unused.key_id)).exit_code == 0
        newest = rotate_seal_keys(file)
        refused = await drop(world, file, used.key_id)
        assert (refused.exit_code, f"one: key {used.key_id}" in refused.output) == (2, True)
        assert read_seal_keys(file) == (newest, used)
        assert (await drop(world, file, used.key_id, "--force")).exit_code == 0
        assert read_seal_keys(file) == (newest,)

"""``okeyctl tickets``, on a real lobby."""

import asyncio
import json
from pathlib import Path

from typer.testing import CliRunner

from okey.api.common.v1 import common_pb2
from okey.api.lobby.v1 import lobby_pb2
from okey_runtime.identity import Role
from services.okeyctl.app import app
from tests.integration.lobby.small_lobby import Lobby


class Command:
    """The command of an operator of that lobby."""

    def __init__(self, lobby: Lobby, folder: Path) -> None:
        token = lobby.issuer.service_token_dir(folder, Role.OPERATOR)
        self._way = ("--lobby", lobby.servers[0].address, "--token-file", str(token))

    async def run(self, *command: str) -> tuple[int, str]:
        """Status, and all that it said."""
        arguments = ["tickets", *command, *self._way]
        result = await asyncio.to_thread(CliRunner().invoke, app, arguments, env={"COLUMNS": "200"})
        return result.exit_code, result.output


async def test_tickets_are_listed_shown_and_taken_back(lobby: Lobby, tmp_path: Path) -> None:
    command = Command(lobby, tmp_path)
    status, said = await command.run("list")
    assert (status, "nobody waits" in said) == (0, True)
    esli = lobby_pb2.TableTerms(mode=common_pb2.MODE_ESLI, stake=500)
    for name in ("ada", "bo"):
        await lobby.player(name).EnqueueTicket(lobby_pb2.EnqueueTicketRequest(terms=esli))
    status, said = await command.run("list")
    assert status == 0
    assert "canak esli, 4 seats, 500 chips, 60 s" in said
    assert "± 100" in said
    status, said = await command.run("list", "--limit", "1", "--json")
    documents = json.loads(said[said.index("[\n") :])
    assert [each["player"] for each in documents] == ["ada"]
    status, said = await command.run("cancel", "ada")
    assert (status, "of ada is CANCELLED" in said) == (0, True)
    status, said = await command.run("show", "ada")
    assert (status, "CANCELLED (OPERATOR)" in said) == (0, True)


async def test_what_cannot_be_is_said_in_one_line(lobby: Lobby, tmp_path: Path) -> None:
    command = Command(lobby, tmp_path)
    status, said = await command.run("show", "nobody")
    assert (status, "TICKET_NOT_FOUND" in said) == (2, True)
    status, said = await command.run("cancel", "no player")
    assert (status, "is no player id" in said) == (2, True)

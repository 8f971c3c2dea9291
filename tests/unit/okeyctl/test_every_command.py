"""What all commands of okeyctl have in common: help for everything, JSON for programs, a place in
docs/okeyctl.md, completion.
"""

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import typer.main
from google.protobuf.json_format import ParseDict

from okey.api.engine.v1 import engine_pb2, players_pb2
from okey.api.lobby.v1 import lobby_pb2, operator_pb2
from okey.api.rating.v1 import rating_pb2
from okey.api.wallet.v1 import wallet_pb2
from services.okeyctl import player_view
from services.okeyctl.app import app
from services.okeyctl.as_json import json_line
from services.okeyctl.player_view import Found
from services.okeyctl.ratings import Placed

PAGE = Path(__file__).parents[3] / "docs" / "okeyctl.md"
OKEYCTL = Path(sys.executable).with_name("okeyctl")

JSON_ALREADY = {"hands", "player export", "config check"}
"""Their whole output is JSON."""
NO_FACTS = {"demo", "token", "wallet chain-key", "keys rotate", "keys drop"}
"""They make something and tell nothing that a program would read."""


def commands() -> Iterator[tuple[str, object]]:
    """Every command that is not hidden, by how it is called."""
    left = [("", typer.main.get_command(app))]
    while left:
        name, command = left.pop()
        below = getattr(command, "commands", None)
        if below is None:
            yield name, command
            continue
        if getattr(command, "invoke_without_command", False) and name:
            yield name, command
        left += [(f"{name} {each}".strip(), one) for each, one in below.items() if not one.hidden]


def parameters(command: object) -> list[object]:
    return list(getattr(command, "params", ()))


def test_every_command_has_help_and_so_has_each_option() -> None:
    found = dict(commands())
    assert len(found) > 30
    assert [name for name, command in found.items() if not getattr(command, "help", "")] == []
    silent = [
        f"{name} {getattr(each, 'name', '')}"
        for name, command in found.items()
        for each in parameters(command)
        if getattr(each, "param_type_name", "") == "option" and not getattr(each, "help", "")
    ]
    assert silent == []


def test_every_command_that_tells_something_tells_it_as_json_too() -> None:
    plain = {
        name
        for name, command in commands()
        if not any("--json" in getattr(each, "opts", ()) for each in parameters(command))
    }
    assert plain == JSON_ALREADY | NO_FACTS


def test_every_command_stands_in_the_page_and_every_one_there_exists() -> None:
    in_page = set(re.findall(r"`okeyctl ([a-z][a-z -]*[a-z])`", PAGE.read_text("utf-8")))
    assert in_page == {name for name, _ in commands()}


def test_a_message_is_one_line_with_the_protos_names() -> None:
    receipt = wallet_pb2.GetAccountResponse(account="player:ayse", balance=7)
    told = json.loads(json_line(receipt))
    assert told == {
        "account": "player:ayse",
        "balance": "7",
        "version": "0",
        "frozen": False,
        "closed": False,
    }
    assert ParseDict(told, wallet_pb2.GetAccountResponse()) == receipt
    assert "\n" not in json_line(engine_pb2.TableSummary(table_id="t"))


def okeyctl(**variables: str) -> str:
    """What the program says with these variables, as a shell sets them that asks for completion."""
    done = subprocess.run(
        [OKEYCTL], env={**os.environ, **variables}, capture_output=True, text=True, check=False
    )
    return done.stdout


def test_completion_answers_the_shell_by_its_own_script() -> None:
    assert "_OKEYCTL_COMPLETE=complete_bash" in okeyctl(_OKEYCTL_COMPLETE="source_bash")
    asked = {"_OKEYCTL_COMPLETE": "complete_bash", "COMP_CWORD": "2"}
    assert okeyctl(**asked, COMP_WORDS="okeyctl tables qu").split() == ["quarantine"]


FOUND = Found(
    "ayse",
    players_pb2.ExportPlayerResponse(display_name="Ayşe", table_id="t" * 26),
    operator_pb2.PlayerTicket(
        ticket=lobby_pb2.Ticket(ticket_id="k1", state=lobby_pb2.TICKET_STATE_WAITING)
    ),
    wallet_pb2.GetAccountResponse(account="player:ayse", balance=9_900, version=3, frozen=True),
    [
        Placed(
            rating_pb2.Rating(
                ladder=rating_pb2.Ladder.ValueType(1), rating_milli=1_210_400, rated_matches=5
            ),
            None,
        )
    ],
)


def test_a_player_is_shown_in_a_line_for_each_thing() -> None:
    first, *lines = player_view.lines(FOUND)
    assert first == 'ayse  "Ayşe"'
    assert lines[:3] == [
        f"  table   {'t' * 26}",
        "  ticket  k1, WAITING",
        "  chips   9,900, 3 postings, frozen",
    ]
    assert lines[3].endswith("1210, 5 rated matches")


def test_a_player_of_whom_nothing_is_known() -> None:
    nobody = Found("nobody", players_pb2.ExportPlayerResponse(), None, None, [])
    assert player_view.lines(nobody) == [
        "nobody  no name known",
        "  table   sits nowhere",
        "  ticket  none",
        "  chips   no account yet",
    ]
    assert json.loads(player_view.as_json(nobody))["account"] is None


def test_a_player_as_json() -> None:
    told = json.loads(player_view.as_json(FOUND))
    assert told["engine"]["display_name"] == "Ayşe"
    assert told["account"]["balance"] == "9900"
    assert told["ratings"][0]["rating_milli"] == 1_210_400

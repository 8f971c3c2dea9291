"""Completion of commands and options in shells."""

from enum import StrEnum
from typing import Final

from typer._completion_classes import completion_init
from typer._completion_shared import get_completion_script

_PROGRAM: Final = "okeyctl"
_VARIABLE: Final = "_OKEYCTL_COMPLETE"
"""With this the shell's script asks the program what fits; typer gives the answer."""


class Shell(StrEnum):
    """The shells that there is a script for."""

    BASH = "bash"
    ZSH = "zsh"
    FISH = "fish"


def offer() -> None:
    """Answer a shell's questions in the form of ``script_for``, before any command is looked at."""
    completion_init()


def script_for(shell: Shell) -> str:
    """What the shell has to be told once, such as in its start file."""
    script: str = get_completion_script(
        prog_name=_PROGRAM, complete_var=_VARIABLE, shell=shell.value
    )
    return script

"""Commands that call services: what they are given, and the options with which they are reached."""

import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from inspect import Parameter
from pathlib import Path
from typing import Concatenate, Final, ParamSpec, TypeVar

from okey_runtime.dev_platform import DEFAULT_DATA_DIR
from services.okeyctl.ending import refusals
from services.okeyctl.options import (
    DataDir,
    EngineAddress,
    LobbyAddress,
    RatingAddress,
    TokenFile,
    WalletAddress,
)
from services.okeyctl.player_data import Ways
from services.okeyctl.reach import Reach, reach

_ADDRESSES: Final[Mapping[str, object]] = {
    "lobby": LobbyAddress,
    "engine": EngineAddress,
    "wallet": WalletAddress,
    "rating": RatingAddress,
}

P = ParamSpec("P")
T = TypeVar("T")
Command = Callable[Concatenate[T, P], None]


def calls(service: str) -> Callable[[Command[Reach, P]], Callable[..., None]]:
    """A command whose first argument is the way to that service.

    The options that say where it is take that argument's place, and what goes wrong on the way
    there or later ends the command as ``refusals`` says.
    """

    def offered(command: Command[Reach, P]) -> Callable[..., None]:
        return _with_options(command, [service], lambda ways: ways[service])

    return offered


def calls_everything(command: Command[Ways, P]) -> Callable[..., None]:
    """The same with the ways to all services that keep something of a player."""
    return _with_options(command, list(_ADDRESSES), lambda ways: Ways(**ways))


def _with_options(
    command: Command[T, P], services: Sequence[str], way_of: Callable[[Mapping[str, Reach]], T]
) -> Callable[..., None]:
    own = list(inspect.signature(command).parameters.values())[1:]
    added = [
        _option("data_dir", DataDir, DEFAULT_DATA_DIR),
        *(_option(service, _ADDRESSES[service], None) for service in services),
        _option("token_file", TokenFile, None),
    ]

    @functools.wraps(command)
    def offered(*, data_dir: Path, token_file: Path | None, **given: object) -> None:
        with refusals():
            ways = {
                service: reach(service, data_dir, _text(given.pop(service)), token_file)
                for service in services
            }
            named: Callable[..., None] = functools.partial(command, way_of(ways))
            named(**given)

    # What typer reads: the command's own parameters, then those.
    parameters = [each.replace(kind=Parameter.KEYWORD_ONLY) for each in (*own, *added)]
    offered.__dict__["__signature__"] = inspect.Signature(parameters)
    offered.__annotations__ = {each.name: each.annotation for each in parameters}
    return offered


def _option(name: str, annotation: object, default: object) -> Parameter:
    return Parameter(name, Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


def _text(value: object) -> str | None:
    assert value is None or isinstance(value, str)
    return value

"""Settings read from ``OKEY_*`` variables and, for secrets, from files; told in an operator's words
where they cannot be used.
"""

import json
import os
import re
import sys
from typing import Final, Self, get_args

from pydantic import SecretStr, ValidationError
from pydantic_core import ErrorDetails
from pydantic_settings import BaseSettings, SettingsConfigDict

from okey_runtime.logging import LogFormat, configure_logging, get_logger

SECRETS_DIR_VARIABLE: Final = "OKEY_SECRETS_DIR"

UNUSABLE_SETTINGS: Final = 2
"""Exit status of a process whose settings cannot be used."""

CHECK_FLAG: Final = "--check"
"""A process that is started with it shows its settings and ends, having opened nothing."""

_PREFIX: Final = "OKEY_"
_BOUNDS: Final = {"gt": "above", "ge": "at least", "lt": "below", "le": "at most"}


class SettingsRefused(Exception):
    """The environment cannot be used; the message names each variable, its value (a secret's not)
    and what is allowed.
    """


class EnvironmentSettings(BaseSettings):
    """Settings of a process; subclasses add the fields."""

    model_config = SettingsConfigDict(
        env_prefix=_PREFIX, extra="ignore", frozen=True, hide_input_in_errors=True
    )

    @classmethod
    def load(cls) -> Self:
        """``read`` for the ``__main__`` of a process: settings that cannot be used are logged in
        one line and end it with ``UNUSABLE_SETTINGS``.
        """
        try:
            return cls.read()
        except SettingsRefused as error:
            form = os.environ.get(f"{_PREFIX}LOG_FORMAT")
            configure_logging(
                main_module(),
                form=LogFormat.CONSOLE if form == LogFormat.CONSOLE else LogFormat.JSON,
            )
            get_logger(__name__).critical("settings_refused", error=str(error))
            raise SystemExit(UNUSABLE_SETTINGS) from error

    @classmethod
    def read(cls) -> Self:
        """Read the environment and, where ``OKEY_SECRETS_DIR`` names a folder, one file a secret
        (``okey_database_url``).

        Raises:
            SettingsRefused: a value is missing, malformed or not allowed here.
        """
        secrets_dir = os.environ.get(SECRETS_DIR_VARIABLE)
        try:
            return cls(_secrets_dir=secrets_dir) if secrets_dir else cls()
        except ValidationError as error:
            raise SettingsRefused("; ".join(_told(cls, each) for each in error.errors())) from error

    def shown(self) -> str:
        """Every setting by its variable, as one JSON object; a secret's value is not in it."""
        settings = self.model_dump(mode="json").items()
        return json.dumps({f"{_PREFIX}{name.upper()}": value for name, value in settings}, indent=2)


def main_module() -> str:
    """The package that was started with ``python -m``, as ``services.wallet``."""
    spec = sys.modules["__main__"].__spec__
    return spec.parent or spec.name if spec is not None else "okey"


def _told(settings: type[EnvironmentSettings], error: ErrorDetails) -> str:
    """What is wrong with one variable, in the words of whoever sets it."""
    if not error["loc"]:
        return error["msg"].removeprefix("Value error, ")
    name = str(error["loc"][0])
    variable = f"{_PREFIX}{name.upper()}"
    if error["type"] == "missing":
        return f"{variable} is not set, and there is no default"
    field = settings.model_fields[name]
    is_secret = SecretStr in (field.annotation, *get_args(field.annotation))
    found = "a secret that cannot be used" if is_secret else repr(error["input"])
    bounds = [
        f"{word} {bound}"
        for each in field.metadata
        for key, word in _BOUNDS.items()
        if (bound := getattr(each, key, None)) is not None
    ]
    allowed = f" ({', '.join(bounds)})" if bounds else ""
    return f"{variable} is {found}: {re.sub('^(Input|String)', 'it', error['msg'])}{allowed}"

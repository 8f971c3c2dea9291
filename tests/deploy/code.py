"""What the code itself says about its services, for the manifests to be held against."""

import importlib.util
import inspect
from functools import cache
from typing import Final, get_type_hints

from okey_runtime.config import ServiceSettings
from okey_runtime.environment import SECRETS_DIR_VARIABLE, EnvironmentSettings
from okey_runtime.migration_job import MigrationSettings
from tests.deploy.manifests import ROOT

SERVICES: Final = tuple(
    sorted(folder.parent.name for folder in (ROOT / "services").glob("*/servicer.py"))
)
"""Folders of services/ that serve gRPC, and so are deployed."""


KEEPERS: Final = tuple(
    name for name in SERVICES if (ROOT / "services" / name / "migrations").is_dir()
)
"""Those that keep a database, whose schema a job migrates."""


@cache
def settings_class(service: str) -> type[ServiceSettings]:
    """The settings that the service's app takes."""
    module = importlib.import_module(f"services.{service}.app")
    [app] = [
        value
        for name, value in inspect.getmembers(module, inspect.isclass)
        if name.endswith("App") and value.__module__ == module.__name__
    ]
    found = get_type_hints(app.__init__)["settings"]
    if not (isinstance(found, type) and issubclass(found, ServiceSettings)):
        raise TypeError(f"the settings of {app.__name__} are no ServiceSettings but {found!r}")
    return found


def variables_of(service: str) -> frozenset[str]:
    """Every variable that the service reads."""
    return _variables(settings_class(service))


def variables_of_migrations() -> frozenset[str]:
    """Every variable that a migration reads."""
    return _variables(MigrationSettings)


def _variables(settings: type[EnvironmentSettings]) -> frozenset[str]:
    fields = {f"OKEY_{name.upper()}" for name in settings.model_fields}
    return frozenset(fields | {SECRETS_DIR_VARIABLE})


def is_startable(module: str) -> bool:
    """Whether ``python -m module`` runs something."""
    try:
        found = importlib.util.find_spec(module)
    except ModuleNotFoundError:
        return False
    if found is None or found.submodule_search_locations is None:
        return found is not None
    return importlib.util.find_spec(f"{module}.__main__") is not None

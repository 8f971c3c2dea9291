"""Which schema a database has, beside the one that this version of a service knows.

Revisions are numbers that only grow, so a schema that this version does not know is newer if its
number is greater. Every change of a schema leaves the version before running (expand first,
contract a release later), so a service goes on with a newer one: a release can be rolled back while
its schema stays.
"""

from functools import cache
from pathlib import Path
from typing import Final

from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection

from okey_runtime.logging import get_logger

NONE: Final = "none"
"""What a database has that nobody has migrated."""

_log = get_logger(__name__)


class SchemaIsOlder(Exception):
    """The database has not been brought to this version's schema; run its migration first."""


class SchemaUnknown(Exception):
    """The schema is no version of this service's; the URL names another one's database."""


def alembic_config(migrations: Path) -> Config:
    """How Alembic finds the scripts of a ``migrations`` folder."""
    config = Config()
    config.set_main_option("script_location", str(migrations).replace("%", "%%"))
    return config


@cache
def newest_schema(migrations: Path) -> str:
    """The revision to which this version of a service brings its database; read once."""
    return ScriptDirectory.from_config(alembic_config(migrations)).get_current_head() or NONE


def schema_of(connection: Connection) -> str:
    """The revision that a database has."""
    return MigrationContext.configure(connection).get_current_revision() or NONE


def is_newer(schema: str, newest: str) -> bool:
    """Whether a schema comes after the newest that this version knows.

    Raises:
        SchemaUnknown: it is no number, so it is another product's.
    """
    if schema == NONE:
        return False
    if not (schema.isdecimal() and newest.isdecimal()):
        raise SchemaUnknown(
            f"the database has the schema {schema!r}, which is none of this service's: see whether "
            "OKEY_DATABASE_URL names the right database"
        )
    return int(schema) > int(newest)


def accept(connection: Connection, migrations: Path) -> None:
    """Return for a database that has this version's schema, or a newer one, which is logged.

    Raises:
        SchemaIsOlder: its migration has not run.
        SchemaUnknown: see ``is_newer``.
    """
    schema, newest = schema_of(connection), newest_schema(migrations)
    if is_newer(schema, newest):
        tell_newer(schema, newest)
    elif schema != newest:
        module = ".".join((*migrations.parts[-3:-1], "migrate"))
        raise SchemaIsOlder(
            f"the database has the schema {schema} and this version needs {newest}: run "
            f"python -m {module} with the same image first (the Job {migrations.parent.name}"
            "-migration), or set OKEY_MIGRATES=true to have the service do it"
        )


def tell_newer(schema: str, newest: str) -> None:
    """Say that somebody newer has been here; what was there before still works."""
    _log.warning("schema_is_newer", schema=schema, knows=newest)

"""Alembic's entry; ``okey_runtime.migrations`` opens the connection."""

from okey_runtime.migrations import run_migrations

run_migrations()

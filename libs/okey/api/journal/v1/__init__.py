"""Generated from protos/: okey.api.journal.v1."""

"""Generated from protos/: okey.api.journal."""

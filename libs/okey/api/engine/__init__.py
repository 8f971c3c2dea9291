"""Generated from protos/: okey.api.engine."""

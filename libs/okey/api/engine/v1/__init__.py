"""Generated from protos/: okey.api.engine.v1."""

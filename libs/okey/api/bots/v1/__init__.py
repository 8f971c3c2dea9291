"""Generated from protos/: okey.api.bots.v1."""

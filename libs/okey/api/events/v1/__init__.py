"""Generated from protos/: okey.api.events.v1."""

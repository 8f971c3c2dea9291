"""Generated from protos/: okey.api.events."""

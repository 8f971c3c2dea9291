"""Generated from protos/: okey.api.bots."""

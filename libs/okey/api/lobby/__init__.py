"""Generated from protos/: okey.api.lobby."""

"""Generated from protos/: okey.api.lobby.v1."""

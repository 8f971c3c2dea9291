"""Generated from protos/: okey.api.common.v1."""

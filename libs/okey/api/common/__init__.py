"""Generated from protos/: okey.api.common."""

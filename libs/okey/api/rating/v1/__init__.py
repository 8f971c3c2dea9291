"""Generated from protos/: okey.api.rating.v1."""

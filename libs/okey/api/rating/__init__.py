"""Generated from protos/: okey.api.rating."""

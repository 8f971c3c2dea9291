"""Generated from protos/: okey.api."""

"""Generated from protos/: okey.api.wallet."""

"""Generated from protos/: okey.api.wallet.v1."""

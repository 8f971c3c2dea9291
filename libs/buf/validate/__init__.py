"""Generated from protos/: buf.validate."""

"""Generated from protos/: buf."""

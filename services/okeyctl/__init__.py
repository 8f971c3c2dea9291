"""The operators' and integrators' command."""

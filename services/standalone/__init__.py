"""Standalone: every service as a process of its own on this machine, on embedded databases."""

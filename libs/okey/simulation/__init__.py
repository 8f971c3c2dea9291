"""Whole matches in one process: a table, a dictionary ledger, policies; no clock and no I/O."""

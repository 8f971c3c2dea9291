"""The engine: running tables, one actor each, from a journal that is the truth."""

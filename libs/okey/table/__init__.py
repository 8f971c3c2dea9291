"""A table as a pure state machine: ``decide`` a command, ``evolve`` by its events, ``view`` what
one may see.
"""

"""The demo: a platform of its own, and real clients that play every kind of match on it."""

"""The real engine, wallet and rating in one process, on virtual time and a seeded scheduler."""

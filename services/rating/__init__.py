"""The rating service: who stands where, and by which matches (rules R1..R5)."""

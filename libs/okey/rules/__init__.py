"""The rules of tiles, deals and hands: pure values and functions, without a clock or randomness."""

"""How an AI plays: pure functions of what one seat may see, and of a seed."""

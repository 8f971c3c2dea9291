"""`make mutations`: take a safeguard out of the wallet, and a named test must go red."""

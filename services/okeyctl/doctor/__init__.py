"""``okeyctl doctor``: looks at a whole installation and says what is wrong with it."""

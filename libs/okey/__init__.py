"""Okey: rules, tables, money, rating and bots as pure functions over frozen values."""

"""The wallet service: a double-entry ledger of whole chips that knows the money rules of play."""

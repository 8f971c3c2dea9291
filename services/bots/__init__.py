"""The bot service: stateless workers that choose moves for house seats and stand-ins."""

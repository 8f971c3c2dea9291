"""The lobby service: making, finding and joining tables, and quick match."""

"""Ranks that send each other single messages; Ray carries them."""

"""Columns of names, times and bools: their meaning, and their conversion by every format."""

"""Columns of names, times and bools: their meaning, and their way through every format."""

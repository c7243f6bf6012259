"""Checks for special kinds of reductions."""

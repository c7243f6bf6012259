"""Checks of particular kinds of reductions."""

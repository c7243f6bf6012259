"""Trap mode: programs with a test after every operation that can fail."""

"""Ranks that a script or a command has started as processes, and that receive their call as data."""

"""Ranks that a script or a command has started as processes. The ranks receive their call as data."""

"""Processes of ranks that a script or a command has started, and that get their call as data."""

"""Graphs whose edges are not in memory: rings, streamed passes and page files."""

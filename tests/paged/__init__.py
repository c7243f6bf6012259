"""Graphs whose edges are not in memory: rings of pages, streamed passes and page files."""

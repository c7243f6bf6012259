"""Saved states: files of arrays, and arrays over vertices in files."""

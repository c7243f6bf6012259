"""Reads of pages from disk into aligned buffers."""

"""Passes over pages, wherever the pages are."""

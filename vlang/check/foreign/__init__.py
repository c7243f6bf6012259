"""Advice on names and calls of other languages: what to write in vlang instead."""

"""Warnings about programs that are correct, but may not do what the user wants (V2xx)."""

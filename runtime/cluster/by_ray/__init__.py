"""Runs on ranks that are actors of Ray."""

"""Warnings about the values of a run."""

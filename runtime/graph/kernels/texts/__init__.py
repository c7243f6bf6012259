"""Kernels that scan lines of text."""

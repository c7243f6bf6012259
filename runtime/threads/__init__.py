"""Threads, and launches of kernels on them."""

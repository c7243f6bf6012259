"""Kernels of a GPU: their entry points, and which one suits a page."""

"""Ranks that run their passes on a GPU, and exchange values through host memory."""

"""Layouts of arrays that kernels and Python share."""

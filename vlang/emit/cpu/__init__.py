"""The CPU target: numba text from skeletons and generated functions."""

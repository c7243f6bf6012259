"""The CPU target: a numba module of skeletons and of functions generated from the program."""

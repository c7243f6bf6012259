"""Compilation of kernel text to machine code by numba or NVRTC, and the cache of machine code on disk."""

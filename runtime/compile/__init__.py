"""Kernel text to machine code, by numba or NVRTC, and the cache on disk."""

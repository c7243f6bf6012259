"""Threads that run kernels: they wait in machine code for launches."""

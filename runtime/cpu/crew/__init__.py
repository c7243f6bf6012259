"""The worker threads that run kernels, and wait for launches in machine code."""

"""The worker threads that run kernels. Between launches they wait in machine code."""

"""The interface to a GPU: CuPy, the CUDA driver, and one allocator that accounts for every byte."""

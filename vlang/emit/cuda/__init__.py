"""CUDA C: the dialect of the writers, and the skeletons that call the generated code."""

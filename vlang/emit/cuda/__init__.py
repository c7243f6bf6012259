"""CUDA C: the dialect of the writers, and the skeletons that call what they write."""

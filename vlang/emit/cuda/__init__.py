"""The CUDA target: the dialect of CUDA C, and the skeletons that call the generated code."""

"""The interface between language and engine: plans, and the layouts of arrays that kernels and Python share."""

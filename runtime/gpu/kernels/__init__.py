"""The kernels of a GPU: their entry points, and the choice of a kernel for each page."""

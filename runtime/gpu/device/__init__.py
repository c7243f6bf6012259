"""The seam to a GPU: CuPy, the driver, one accounted allocator."""

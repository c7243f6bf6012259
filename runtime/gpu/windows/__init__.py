"""Runs whose vertex arrays are larger than GPU memory: windows of these arrays move to the GPU with the pages."""

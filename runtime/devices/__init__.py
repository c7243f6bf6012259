"""Devices: where kernels are loaded and launched."""

"""The code that each way of running a loop on a CPU adds to kernels."""

"""The code that each way of running a loop on a GPU adds to kernels, one file for each way."""

"""The ways of running a loop on a GPU, and full passes."""

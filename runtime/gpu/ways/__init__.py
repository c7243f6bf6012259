"""Ways to run a loop on a GPU."""

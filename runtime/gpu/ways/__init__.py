"""Ways of running a loop on a GPU."""

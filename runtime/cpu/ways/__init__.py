"""Ways of running a loop on the CPU."""

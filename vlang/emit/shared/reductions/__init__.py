"""Code of reductions, for any target."""

"""Code of values and operations, for any target."""

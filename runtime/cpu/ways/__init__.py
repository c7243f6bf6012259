"""The execution ways of loops on the CPU."""

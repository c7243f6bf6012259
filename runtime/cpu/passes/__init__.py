"""Full and listed passes on the CPU, and what they cost."""

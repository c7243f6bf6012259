"""Running a plan on the CPU."""

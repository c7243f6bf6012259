"""The CPU machine, which runs a plan on the processors of the host."""

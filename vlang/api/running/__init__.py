"""Runs a bound call, with its memory budget, plan and checkpoints, and checks the values after the run."""

"""Runs a bound call: its memory budget, its plan, its checkpoints, and the checks of its values after the run."""

"""A bound call becomes a result: memory, plans, checkpoints, and what is looked for after the run."""

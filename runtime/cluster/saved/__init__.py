"""Checkpoints of runs on several ranks: the folder, the parts of all ranks, and the times at which ranks write."""

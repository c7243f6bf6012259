"""Checkpoints of runs on several ranks: the folder, the parts of all ranks, and when ranks write."""

"""Runs of one program on one GPU that share their reads of the edges."""

"""Runs of one program on one graph that share their reads of the edges."""

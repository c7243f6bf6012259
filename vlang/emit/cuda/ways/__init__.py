"""The emit halves of the ways in which a GPU runs a loop: a file for each way."""

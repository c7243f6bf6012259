"""The emit halves of the ways in which a GPU runs a loop, one file for each way."""

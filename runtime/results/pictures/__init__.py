"""Pictures of results, drawn by matplotlib (extra `plot`)."""

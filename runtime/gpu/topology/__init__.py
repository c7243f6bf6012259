"""Pages of a graph on a GPU: slots, rows and copies."""

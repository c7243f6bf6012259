"""The topology of a graph on a GPU: pages, slots, rows and copies."""

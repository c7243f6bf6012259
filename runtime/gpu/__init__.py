"""Running a plan on a GPU: its state and topology, the passes over pages, and supersteps."""

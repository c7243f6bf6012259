"""The GPU machine, which runs a plan on a GPU: vertex state, topology, passes over pages, and supersteps."""

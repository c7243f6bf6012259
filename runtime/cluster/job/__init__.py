"""The MPI job of a run: how it is started, and what its processes know about it."""

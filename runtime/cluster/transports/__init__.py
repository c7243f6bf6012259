"""Transports between ranks: MPI, and threads of one process."""

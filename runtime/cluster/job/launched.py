"""Reads from the environment of a process whether it belongs to an MPI job, without loading MPI."""

from __future__ import annotations

import os
from pathlib import Path

__all__ = ["ENDED", "launched_ranks", "note_end", "restarted"]

_SIZES = ("OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_STEP_NUM_TASKS")
"""The variables in which Open MPI, MPICH and srun store the number of ranks."""

ENDED = "VLANG_JOB_ENDED"
"""The variable with the path of a file that a rank creates if it ends by an error of its own."""


def launched_ranks() -> int:
    """Return the number of ranks in the MPI job to which this process belongs; 0 if the process belongs to no MPI job.
    """
    sizes = [os.environ.get(name, "") for name in _SIZES]
    found = max((int(size) for size in sizes if size.isdigit()), default=0)
    return found if found > 1 or any(os.environ.get(name) for name in _SIZES[:2]) else 0


def restarted() -> bool:
    """Return whether vlang started the job of this process, and restarts it if a rank is killed."""
    return ENDED in os.environ


def note_end() -> None:
    """Note that this rank ends by its own error or by a signal to the job, so that the job is not restarted."""
    path = os.environ.get(ENDED)
    if path:
        Path(path).touch()

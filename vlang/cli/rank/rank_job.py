"""One rank of a job that a run has started: `python -m vlang.cli.rank.rank_job FOLDER`.

Each rank reads the call from FOLDER/call.json. Rank 0 writes the values and counts of the run to FOLDER/ran.json, and
the arrays to files in FOLDER. A rank that fails writes its error to FOLDER/error-RANK.json.
"""

from __future__ import annotations

import sys
from pathlib import Path

from vlang.api.calls import Call
from vlang.api.program import Program
from vlang.api.running.call_files import read_call
from vlang.api.running.ran import packed
from vlang.api.running.run_call import ran_call
from vlang.errors import VlangError
from vlang.runtime.cluster.job.form import read_form, write_form
from vlang.runtime.cluster.job.launched import note_end
from vlang.runtime.cluster.job.rank_error import error_form
from vlang.runtime.cluster.transports.mpi import mpi_ranks, reason_of
from vlang.runtime.cluster.transports.transport import agree, joined

__all__ = ["main"]


def main(folder: Path) -> None:
    """Run the call in a folder as one rank of the MPI job of this process."""
    transport = mpi_ranks(None)
    try:
        with joined(transport):
            program, call = read_call(read_form(folder / "call"), transport.rank == 0)
            ran = ran_call(Program(**program), Call(**call))
            if transport.rank == 0:
                write_form(folder / "ran", *packed(ran))
            agree(transport, 0, "the end")
    except BaseException as error:
        note_end()
        write_form(folder / f"error-{transport.rank}", error_form(error, transport.rank), {})
        transport.abort(reason_of(error))
        if not isinstance(error, VlangError):
            raise


if __name__ == "__main__":
    main(Path(sys.argv[1]))

"""The folder of the checkpoints of several ranks. The folder has a subfolder for each rank with the last two
generations.

A generation is valid only if every rank has written its part. No rank begins a generation before all ranks have written
the previous one. Therefore a job that is killed at any time leaves the last common generation in the folder.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from vlang.errors import CheckpointError
from vlang.runtime.cluster.saved.rank_state import RankState, part_of
from vlang.runtime.cluster.transports.transport import Transport, first_reason, text_of_rank_0
from vlang.runtime.storage.state.state_file import Damaged, Foreign, StateFile
from vlang.runtime.storage.state.state_folder import RANK_FOLDER, Generation, StateFolder

__all__ = ["RankFolder"]

_LACKS = "lacks"  # the first word of the reason if a rank lacks its part of a generation


class RankFolder(StateFolder):
    """The folder `DIR/rank-NNNNN`, in which one rank stores its part of every checkpoint.

    Attributes:
        transport: the transport of the rank.
        owned: the first vertex of the rank, and its last vertex plus 1; set before a checkpoint is read or written.

    Raises CheckpointError if DIR contains other files or another job uses DIR. Raises DiskError.
    """

    def __init__(self, path: str | os.PathLike[str], transport: Transport) -> None:
        self.transport = transport
        self.owned = 0, 0
        self._top = Path(os.path.realpath(path))
        with suppress(FileNotFoundError, NotADirectoryError):
            others = sorted(name for name in os.listdir(self._top) if not re.fullmatch(RANK_FOLDER, name))
            if others:
                raise CheckpointError(f"{os.fspath(path)} holds other files ({others[0]}), such as the checkpoint of a "
                                      "run in one process; give the checkpoints of several ranks a folder of their own")
        super().__init__(self._top / _name(transport.rank))
        self.shown = os.fspath(path)

    def generations(self) -> Sequence[Generation]:
        """Return the generations that all ranks have written, newest first. All ranks call this method together.

        Raises CheckpointError if there are state files, but no valid generation. An incomplete first generation, which
        a killed job may leave, is no error.
        """
        own = [] if self.transport.rank else \
            [_listed(one) for one in super().generations()]  # rank 0 takes part in every checkpoint
        listed = json.loads(text_of_rank_0(self.transport, json.dumps(own), "generations of checkpoints"))
        found, lost = [], ""
        for name, number, stamp, ranks in listed:
            state, problem = self._state(name, stamp, ranks)
            problem = first_reason(self.transport, problem, "a generation of checkpoints")
            if problem.startswith(_LACKS):
                lost = lost or (problem.removeprefix(_LACKS) if number > 1 else "")
            else:
                found.append(Generation(name, number, None if problem else state, problem))
        if lost and not found:
            raise CheckpointError(f"no checkpoint in {self.shown} is whole: {lost}; remove the folder to begin anew")
        self.number = max((one.number for one in found if one.file is not None), default=0)
        return found

    def _state(self, name: str, stamp: int, ranks: int) -> tuple[RankState | None, str]:
        """Return the state files called `name` of all ranks, and the reason why these files are no valid generation, or
        "".
        """
        files, at = [], ""
        try:
            for rank in range(ranks):
                at = f"{_name(rank)}/{name}"
                file = StateFile(self._top / at)
                part = part_of(file)
                if (part.rank, part.ranks, part.stamp) != (rank, ranks, stamp):
                    return None, f"{_LACKS}{at} is of another checkpoint"
                files.append(file)
            return RankState(files, self.transport, lambda: self.owned), ""
        except FileNotFoundError:
            return None, f"{_LACKS}{at} is missing"
        except (Damaged, Foreign) as error:
            return None, f"{at}: {error}"

    def drop_older(self) -> None:
        """Remove the older generation. On rank 0, also remove the parts of ranks that do not exist in this job.

        Raises OSError.
        """
        super().drop_older()
        if self.transport.rank == 0:
            for name in os.listdir(self._top):
                if int(name.rpartition("-")[2]) >= self.transport.size:
                    for kept in os.listdir(self._top / name):
                        os.unlink(self._top / name / kept)
                    os.rmdir(self._top / name)


def _name(rank: int) -> str:
    return f"rank-{rank:05d}"


def _listed(one: Generation) -> tuple[str, int, int, int]:
    """Return the description of a generation of rank 0: the file name, the generation number, the stamp and the number
    of ranks.

    The stamp of a damaged file does not matter, because every rank finds this file damaged before it compares stamps.
    """
    if one.file is None:
        return one.name, 1, 0, 1
    part = part_of(one.file)
    return one.name, one.number, part.stamp, part.ranks

"""Runs on several ranks continue from the last checkpoint of all ranks, on any number of ranks, with the same bits."""

from __future__ import annotations

import shutil
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.checkpoints.cases import CASES, assert_same, graph_of, program_of
from tests.checkpoints.test_points import Stopped, stopped_after, written_at_once
from vlang import CheckpointError, Result
from vlang.runtime.cluster.saved.rank_keeper import RankKeeper
from vlang.runtime.cluster.transports.thread_ranks import run_ranks
from vlang.runtime.cluster.transports.transport import Transport
from vlang.runtime.storage.state.state_file import StateFile
from vlang.runtime.storage.state.state_folder import StateFolder

SIZES = (3, 1, 2, 4)
SOME = ("pull", "notify-pull", "reach", "priority", "components", "nested", "sweep, for-vertices", "repeating",
        "several passes")


def run(case: str, size: int, folder: Path, rounds: int | None, **more: Any) -> list[Result]:
    """Run a case on several ranks with checkpoints. Unless `rounds` is None, stop every rank after this number of
    rounds.
    """
    def work(transport: Transport) -> Result:
        stop = None if rounds is None else stopped_after(rounds)
        given = {**CASES[case].given, **more}
        return program_of(case)(graph_of(case), checkpoint=folder, every=0, progress=stop, threads=1, **given)

    return run_ranks(size, work)


@pytest.mark.parametrize("case", SOME)
def test_other_numbers_of_ranks(case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run that is stopped several times continues with another number of ranks and in another mode."""
    written_at_once(monkeypatch)
    want = program_of(case)(graph_of(case), **CASES[case].given)
    modes = [one for one in CASES[case].others if one.get("mode", "pull") != "push" and len(one) == 1 and "mode" in one]
    rounds, part = max(2, len(want.history) // 3), 0
    while True:
        more = {} if part % 2 or not modes else {"research": modes[part // 2 % len(modes)]}
        try:
            found = run(case, SIZES[part % len(SIZES)], tmp_path, rounds if part < 6 else None, **more)
        except Stopped:
            part += 1
            continue
        break
    for result in found:
        assert_same(case, result, want)
        assert result.resumed or not part
    ranks = sorted(path.name for path in tmp_path.iterdir())
    assert ranks == [f"rank-{rank:05d}" for rank in range(SIZES[part % len(SIZES)])]
    assert not run(case, 2, tmp_path, None)[0].resumed  # the previous run had finished


def stopped(folder: Path, monkeypatch: pytest.MonkeyPatch, size: int = 3) -> Result:
    """Run the case "pull" on ranks and stop it after some supersteps. Return the result of a complete run in one
    process.
    """
    written_at_once(monkeypatch)
    with pytest.raises(Stopped):
        run("pull", size, folder, 6)
    return program_of("pull")(graph_of("pull"), **CASES["pull"].given)


def generations(folder: Path) -> list[Path]:
    """Return the two state files of each rank, the newest first, rank by rank."""
    return [path for rank in sorted(folder.iterdir())
            for path in sorted(rank.glob("state.[01]"), key=lambda one: -int(str(StateFile(one).about["generation"])))]


@pytest.mark.parametrize("damage", ["missing", "bytes", "head", "older"])
def test_a_generation_that_some_rank_lacks(damage: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """If a rank lacks its file of the last generation, the run continues from the previous generation. A part of
    another checkpoint does not replace the file.
    """
    want = stopped(tmp_path, monkeypatch)
    newest, before = generations(tmp_path)[2:4]  # files of rank 1
    data = newest.read_bytes()
    if damage == "missing":
        newest.unlink()
    elif damage == "older":
        shutil.copyfile(before, newest)
    else:
        at = StateFile(newest)._entries["field:rank"].first if damage == "bytes" else 70
        newest.write_bytes(data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :])
    for result in run("pull", 2, tmp_path, None):
        assert_same("pull", result, want)
        assert result.resumed
        assert any("rank-00001" in text for text in result.warnings) == (damage in ("bytes", "head"))


def test_no_whole_generation(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stopped(tmp_path, monkeypatch)
    for path in (tmp_path / "rank-00001").glob("state.*"):
        path.unlink()
    with pytest.raises(CheckpointError, match=r"no checkpoint in .* is whole: rank-00001/state.[01] is missing"):
        run("pull", 3, tmp_path, None)


def test_folders_of_the_other_kind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stopped(tmp_path / "ranks", monkeypatch, 2)
    alone = partial(program_of("pull"), graph_of("pull"), **CASES["pull"].given)
    with pytest.raises(CheckpointError, match="has the checkpoint of a run on several ranks"):
        alone(checkpoint=tmp_path / "ranks")
    with pytest.raises(Stopped):
        alone(checkpoint=tmp_path / "one", every=0, progress=stopped_after(4))
    with pytest.raises(CheckpointError, match=r"holds other files \(lock\), such as the checkpoint of a run in one"):
        run("pull", 2, tmp_path / "one", None)


def test_a_rank_that_cannot_write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """If a rank cannot write, the run continues. The generation that this rank could not write is ignored, and the last
    complete generation is kept.
    """
    written_at_once(monkeypatch)
    write, tries = StateFolder.write, [0]

    def failing(self: StateFolder, *words: Any) -> bool:
        if self.path.name == "rank-00001":
            tries[0] += 1
            if tries[0] > 2:
                raise OSError(28, "no space")
        return write(self, *words)

    monkeypatch.setattr(StateFolder, "write", failing)
    monkeypatch.setattr("vlang.runtime.cluster.saved.rank_keeper.INTERVAL", 0.0)
    with pytest.raises(Stopped):
        run("pull", 3, tmp_path, 9)
    assert tries[0] > 3
    monkeypatch.setattr(StateFolder, "write", write)
    want = program_of("pull")(graph_of("pull"), **CASES["pull"].given)
    for result in run("pull", 2, tmp_path, None):
        assert_same("pull", result, want)
        assert "before step 4 of the program" in result.resumed  # the second generation; the loop is step 4


def test_a_problem_is_in_every_result(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(self: StateFolder, *words: Any) -> bool:
        raise OSError(28, "no space")

    monkeypatch.setattr(StateFolder, "write", failing)
    for result in run("pull", 2, tmp_path, None):
        (text,) = [text for text in result.warnings if "checkpoint" in text]
        assert text.startswith(f"no checkpoint could be written to {tmp_path}: rank 0: the disk is full; the run goes")


def test_a_signal_on_one_rank(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """After a signal on one rank, all ranks save the same superstep and end."""
    point = RankKeeper.point

    def signalled(self: RankKeeper, *words: Any) -> None:
        if self.transport.rank == 1 and len(words[0].history) == 5:
            self.interrupts.asked, self.interrupts._end = 2, 1e18
        point(self, *words)

    monkeypatch.setattr(RankKeeper, "point", signalled)
    with pytest.raises(KeyboardInterrupt):
        run("pull", 3, tmp_path, None)
    monkeypatch.setattr(RankKeeper, "point", point)
    want = program_of("pull")(graph_of("pull"), **CASES["pull"].given)
    for result in run("pull", 2, tmp_path, None):
        assert_same("pull", result, want)
        assert "superstep 6 " in result.resumed

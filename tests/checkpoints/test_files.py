"""Checkpoint files that are damaged or belong to other runs or programs, full disks, and unusable folders."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import stat
import struct
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.checkpoints.cases import graph_of, program_of
from tests.checkpoints.test_points import Stopped, stopped_after, written_at_once
from vlang import BindError, CheckpointError, DiskError
from vlang.runtime.storage.memory import PAGE
from vlang.runtime.storage.state import state_file
from vlang.runtime.storage.state.state_file import Damaged, Image, StateFile, write_image
from vlang.runtime.storage.state.state_folder import StateFolder


@pytest.fixture
def stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder with two checkpoints of a run of `bfs_tree`, whose field `parent` holds vertices."""
    written_at_once(monkeypatch)
    with pytest.raises(Stopped):
        program_of("push")(graph_of("push"), checkpoint=tmp_path, every=0, progress=stopped_after(5), source=3)
    return tmp_path


def go_on(folder: Path, said: list[str] | None = None) -> Any:
    notices = None if said is None else said.append
    return program_of("push")(graph_of("push"), checkpoint=folder, source=3, notices=notices)


def newest(folder: Path) -> Path:
    return max((folder / name for name in ("state.0", "state.1")),
               key=lambda path: int(StateFile(path).about["generation"]))


def rewritten(path: Path, change: Callable[[dict[str, Any], dict[str, Any]], object]) -> None:
    """Change the description and the arrays of a state file, and correct its checksums."""
    file = StateFile(path)
    about, arrays = dict(file.about), file.arrays()
    change(about, arrays)
    write_image(path, Image(about, arrays).sealed())


def flipped(path: Path, at: int) -> None:
    data = bytearray(path.read_bytes())
    data[at] ^= 16
    path.write_bytes(data)


DAMAGE: Mapping[str, tuple[Callable[[Path], object], str]] = {
    "empty": (lambda path: path.write_bytes(b""), "it is empty"),
    "short head": (lambda path: path.write_bytes(path.read_bytes()[:40]), "it ends early"),
    "cut": (lambda path: path.write_bytes(path.read_bytes()[:-PAGE]), "does not lie inside the file"),
    "longer": (lambda path: path.write_bytes(path.read_bytes() + bytes(PAGE)), "bytes, and not"),
    "a bit of the description": (lambda path: flipped(path, 100), "the checksum of its description is wrong"),
    "a bit of an array": (lambda path: flipped(path, path.stat().st_size - PAGE), "the checksum of `"),
    "length of the description": (lambda path: path.write_bytes(
        path.read_bytes()[:16] + struct.pack("<Q", 1 << 50) + path.read_bytes()[24:]), "longer than the file"),
}


@pytest.mark.parametrize("what", DAMAGE)
def test_damage_is_reported_and_the_older_generation_used(what: str, stopped: Path) -> None:
    want = program_of("push")(graph_of("push"), source=3)
    damage, message = DAMAGE[what]
    path = newest(stopped)
    said: list[str] = []
    damage(path)
    result = go_on(stopped, said)
    assert said[0].startswith(f"{stopped}/{path.name} is damaged: ")
    assert message in said[0]
    assert result.warnings == (said[0],)
    assert said[1].startswith("goes on before superstep ")
    assert np.array_equal(result["parent"], want["parent"])
    assert result.rounds == want.rounds


def test_two_damaged_generations(stopped: Path) -> None:
    for name in ("state.0", "state.1"):
        flipped(stopped / name, 100)
    with pytest.raises(CheckpointError, match=r"can be used: state.. is damaged: .*; remove the folder"):
        go_on(stopped)


def foreign_head(path: Path, **more: Any) -> None:
    """Write a state file that has a correct checksum, but a description that vlang does not write."""
    text = json.dumps(more).encode()
    head = struct.pack("<8sQQ32s8x", b"vlangST\n", 1, len(text), hashlib.blake2b(text, digest_size=32).digest())
    path.write_bytes((head + text).ljust(PAGE, b"\0"))


def linked(path: Path) -> None:
    elsewhere = path.parent.parent / "elsewhere"
    path.rename(elsewhere)
    path.symlink_to(elsewhere)


def piped(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


FOREIGN: Mapping[str, tuple[Callable[[Path], object], str]] = {
    "a text": (lambda path: path.write_text("hello " * 100), "it is no checkpoint of vlang"),
    "a pickle": (lambda path: path.write_bytes(b"cos\nsystem\n(S'false'\ntR." + bytes(100)), "it is no checkpoint"),
    "a newer layout": (lambda path: path.write_bytes(
        path.read_bytes()[:8] + struct.pack("<Q", 9) + path.read_bytes()[16:]), "it has layout 9"),
    "a link": (linked, "it is a link"),
    "a pipe": (piped, "it is no regular file"),
    "no arrays": (lambda path: foreign_head(path, about={}), "its description is none of a checkpoint"),
    "arrays of objects": (lambda path: foreign_head(path, about={"generation": 9}, arrays=[
        ["x", "O8", 1, PAGE, "0" * 32]]), "its description is none of a checkpoint"),
    "a number as a name": (lambda path: foreign_head(path, about={"generation": 9}, arrays=[
        [1, "u1", 1, PAGE, "0" * 32]]), "its description is none of a checkpoint"),
    "no generation": (lambda path: rewritten(path, lambda about, _: about.pop("generation")), "its description is"),
    "no key": (lambda path: rewritten(path, lambda about, _: about.pop("key")), "what it belongs to"),
    "no position": (lambda path: rewritten(path, lambda about, _: about.pop("position")), "it has no position"),
    "a position outside": (lambda path: rewritten(path, lambda about, _: about["position"][0].update(at=99)),
                           "its position lies outside of the program"),
    "another block": (lambda path: rewritten(path, lambda about, _: about["position"][-1].update(kind="each")),
                      "its position is none of this program"),
    "a superstep -1": (lambda path: rewritten(path, lambda about, _: about["position"][-1].update(at=-1)),
                       "its position is none of this program"),
    "one array less": (lambda path: rewritten(path, lambda _, arrays: arrays.pop("field:parent")),
                       "its arrays are not those of the program (`field:parent`)"),
    "a short array": (lambda path: rewritten(path, lambda _, arrays: arrays.update(
        {"field:parent": arrays["field:parent"][:-1]})), "its arrays are not those of the program (`field:parent`)"),
    "another type": (lambda path: rewritten(path, lambda _, arrays: arrays.update(
        {"field:parent": arrays["field:parent"].astype(np.uint64)})), "its arrays are not those of the program"),
    "vertices outside": (lambda path: rewritten(path, lambda _, arrays: arrays["field:parent"].fill(1 << 30)),
                         "`field:parent` names vertices that the graph does not have"),
    "flags of 7": (lambda path: rewritten(path, lambda _, arrays: arrays["flags"].fill(7)),
                   "neither true nor false"),
    "a scalar outside": (lambda path: rewritten(path, lambda about, _: about["scalars"].update(source=1 << 30)),
                         "its graph-level values name vertices that the graph does not have"),
    "scalars": (lambda path: rewritten(path, lambda about, _: about["scalars"].update(N=1 << 70)),
                "its graph-level values are not those of the program"),
    "a long history": (lambda path: rewritten(path, lambda _, arrays: arrays["history:parts"].fill(1 << 40)),
                       "its history cannot be read"),
}


def identity(path: Path) -> tuple[int, ...]:
    """Return the properties of a file that change when the file is written or replaced, but not when it is read."""
    facts = path.lstat()
    return facts.st_ino, facts.st_mode, facts.st_size, facts.st_mtime_ns


@pytest.mark.parametrize("what", FOREIGN)
def test_foreign_files_are_refused(what: str, stopped: Path) -> None:
    """A foreign file gives an error of one line that names the file or the folder, and nothing is overwritten."""
    change, message = FOREIGN[what]
    path = newest(stopped)
    change(path)
    before = identity(path)
    with pytest.raises(CheckpointError) as caught:
        go_on(stopped)
    assert message in str(caught.value)
    assert str(stopped) in str(caught.value)
    assert "\n" not in str(caught.value)
    assert identity(path) == before


def parts_of(about: Any) -> Iterator[tuple[Any, Any]]:
    """Yield each entry of a description, and of the lists and dicts in it, as a container and a key."""
    for key, part in list(about.items() if isinstance(about, dict) else enumerate(about)):
        yield about, key
        if isinstance(part, (dict, list)) and key != "key":
            yield from parts_of(part)


def test_no_part_of_a_description_is_taken_on_trust(stopped: Path) -> None:
    """If a part of a description is missing or replaced by a text, either the checkpoint is refused or the run does not
    need the part.

    No other error is raised.
    """
    path, want = newest(stopped), program_of("push")(graph_of("push"), source=3)
    whole, refused = path.read_bytes(), 0
    for number, (_, key) in enumerate(parts_of(StateFile(path).about)):
        for wrong in (None, "x"):

            def change(about: dict[str, Any], _: object, number: int = number, wrong: object = wrong) -> None:
                container, key = list(parts_of(about))[number]
                if wrong is None:
                    del container[key]
                else:
                    container[key] = wrong

            folder = stopped.with_name(f"{number}{wrong}")
            folder.mkdir(mode=0o700)
            (folder / "state.0").write_bytes(whole)
            rewritten(folder / "state.0", change)
            try:
                again = go_on(folder)
            except CheckpointError:
                refused += 1
            else:
                assert np.array_equal(again["parent"], want["parent"]), (key, wrong)
    assert refused > 50


def test_two_generations(stopped: Path) -> None:
    one, other = (int(StateFile(stopped / name).about["generation"]) for name in ("state.0", "state.1"))
    assert abs(one - other) == 1
    assert StateFile(stopped / "state.0").path.stat().st_size % PAGE == 0
    newest(stopped).unlink()
    assert "goes on before" in go_on(stopped).resumed


def test_a_generation_is_on_the_disk_before_it_has_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """After a loss of power, the file under the name of a generation is complete."""
    done: list[str] = []
    real_flush, real_rename = os.fsync, os.replace

    def flush(file: int) -> None:
        done.append("folder" if stat.S_ISDIR(os.fstat(file).st_mode) else "file")
        real_flush(file)

    def rename(old: Path, new: Path) -> None:
        done.append("rename")
        real_rename(old, new)

    folder = StateFolder(tmp_path)
    monkeypatch.setattr(os, "fsync", flush)
    monkeypatch.setattr(os, "replace", rename)
    assert folder.write(Image({}, {"x": np.ones(5)}))
    folder.close()
    assert done == ["file", "rename", "folder"]


def test_folders(tmp_path: Path) -> None:
    inside = tmp_path / "a" / "b"
    folder = StateFolder(inside)
    assert stat.S_IMODE(inside.stat().st_mode) == 0o700
    with pytest.raises(CheckpointError, match="another run keeps its checkpoints in"):
        StateFolder(inside)
    folder.close()
    inside.chmod(0o777)
    StateFolder(inside).close()
    assert stat.S_IMODE(inside.stat().st_mode) == 0o700
    with pytest.raises(CheckpointError, match=r"holds other files \(a\)"):
        StateFolder(tmp_path)
    (tmp_path / "file").write_text("")
    with pytest.raises(DiskError, match="it is no folder"):
        StateFolder(tmp_path / "file")


@pytest.mark.parametrize("direct", [True, False])
def test_arrays_return(direct: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Arrays of every type and length are read back unchanged, with and without direct I/O.

    Each checkpoint image reuses the buffer of the previous image.
    """
    if not direct:
        monkeypatch.setattr(os, "O_DIRECT", 1 << 30, raising=False)
        real = os.open

        def refuse(path: Any, flags: int, mode: int = 0o777) -> int:
            if flags & 1 << 30:
                raise OSError(errno.EINVAL, "no direct writes here")
            return real(path, flags, mode)

        monkeypatch.setattr(os, "open", refuse)
    arrays = {f"{dtype}:{length}": np.arange(length).astype(dtype) for dtype in sorted(state_file._DTYPES)
              for length in (0, 1, 4096, 70_001)}
    image = Image({"name": "\N{GREEK SMALL LETTER ALPHA}"}, arrays, threads=2)
    again = Image({}, {"x": np.ones(5)}, image.buffer)
    assert again.buffer is image.buffer
    image = Image({"name": "\N{GREEK SMALL LETTER ALPHA}"}, arrays, again.buffer)
    assert write_image(tmp_path / "file", image.sealed())
    file = StateFile(tmp_path / "file")
    assert file.about == {"name": "\N{GREEK SMALL LETTER ALPHA}"}
    back = file.arrays()
    assert list(back) == list(arrays)
    assert all(np.array_equal(back[name], arrays[name]) and back[name].dtype == arrays[name].dtype for name in arrays)
    assert not write_image(tmp_path / "file", image.sealed(), stop=lambda: True)
    with pytest.raises(Damaged):
        StateFile(tmp_path / "file")


def test_a_full_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """If the disk is full, the run continues and reports the error once. The earlier checkpoint stays, and no partial
    file is left.
    """
    said: list[str] = []
    want = program_of("pull")(graph_of("pull"))
    real, calls = os.pwrite, [0]

    def full(file: int, data: bytes, at: int) -> int:
        calls[0] += 1
        if calls[0] > 1:
            raise OSError(errno.ENOSPC, "No space left on device")
        return real(file, data, at)

    written_at_once(monkeypatch)
    monkeypatch.setattr(os, "pwrite", full)
    monkeypatch.setattr("vlang.runtime.engine.keeper.INTERVAL", 0.0)
    result = program_of("pull")(graph_of("pull"), checkpoint=tmp_path, every=0, notices=said.append)
    assert said == [f"no checkpoint could be written to {tmp_path}: the disk is full; the run goes on"]
    assert result.warnings == tuple(said)
    assert calls[0] > 4
    assert sorted(path.name for path in tmp_path.iterdir()) == ["lock", "state.1"]
    assert np.array_equal(result["rank"], want["rank"])


@pytest.mark.parametrize(("given", "message"), [
    ({"every": 3}, "every says how often a checkpoint is written; give checkpoint=FOLDER as well"),
    ({"checkpoint": 3}, "checkpoint is the path of a folder, not 3"),
    ({"checkpoint": ""}, "checkpoint is the path of a folder"),
    ({"checkpoint": "s3://b/x"}, "checkpoint is the path of a folder on this machine, and s3://b/x is a URL"),
    ({"checkpoint": "x", "every": "soon"}, "every: `soon` is not a time; write for example 30s, 500ms, 5m or 2h"),
    ({"checkpoint": "x", "every": -1}, "every is a number of seconds or a time"),
    ({"on_interrupt": "return"}, "on_interrupt is one of 'stop', 'write'"),
    ({"checkpoint": "x", "chaos": 1}, "chaos runs a program twice and compares"),
    ({"notices": 3}, "notices is True, False or a function that takes a text"),
])
def test_options(given: dict[str, Any], message: str) -> None:
    with pytest.raises(BindError) as caught:
        program_of("reach")(graph_of("reach"), source=3, **given)
    assert message in str(caught.value)


def test_a_changed_graph_keeps_no_checkpoints(tmp_path: Path) -> None:
    result = program_of("reach")(graph_of("reach"), source=3)
    with pytest.raises(BindError, match="checkpoint is for runs of a whole program"):
        program_of("reach").resume(result, added=([3], [9]), checkpoint=tmp_path)

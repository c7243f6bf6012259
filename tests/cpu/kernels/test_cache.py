"""The cache of object code: damaged and foreign entries, unusable folders, and concurrent processes."""

from __future__ import annotations

import json
import os
import shutil
import stat
import subprocess
import sys
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest

from vlang.runtime.compile import kept, objects
from vlang.runtime.storage.leftovers import remove_leftovers

ROOT = Path(__file__).resolve().parents[3]
COMPILES = """
import sys
import numpy as np
from vlang.runtime.compile.objects import load_kernels
out = np.zeros(1, np.int64)
load_kernels("def put(p, n):\\n    p[0] = n\\n", {"put": "void(i64*, i64)"})["put"](out, 40)
load_kernels("def add(p, n):\\n    p[0] += n\\n", {"add": "void(i64*, i64)"})["add"](out, 2)
print(out[0], "numba" in sys.modules)
"""
RIGHT = "42"
RUNS = """
import sys
from vlang import Graph, compile
text = ["program cached", "vertex x: int = 1", "repeat 3 times:",
        "    gather s = sum(u.x for u -> self)", "    apply x += s"]
program = compile("\\n".join(text))
result = program(Graph.from_edges([0, 1, 2], [1, 2, 2], n=3))
needless = [name for name in sys.modules if name.startswith(("numpy.ma.", "vlang.emit.cuda", "vlang.runtime.gpu"))]
assert "numba" in sys.modules or not needless, needless
print(sum(map(int, result.x)), "numba" in sys.modules)
"""


def start(cache: Path | str | None, code: str = COMPILES, **more: Any) -> subprocess.Popen[str]:
    """Start a process with this cache folder; None means the default folder."""
    environment = {k: v for k, v in os.environ.items() if k not in ("VLANG_CACHE", "XDG_CACHE_HOME")}
    environment |= {"PYTHONPATH": str(ROOT)} | ({} if cache is None else {"VLANG_CACHE": str(cache)})
    environment |= more.pop("env", {})
    flags = ["-W", "error", "-W", "default:compiled programs are not kept"]
    return subprocess.Popen([sys.executable, *flags, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                            text=True, env=environment, **more)  # fmt: skip


def finished(process: subprocess.Popen[str], why_unused: str = "") -> tuple[str, str]:
    """Return the output of a process, which must succeed.

    A process that does not use the cache must print exactly one warning; other processes must print none.
    """
    out, err = process.communicate(timeout=120)
    assert process.returncode == 0, err
    if why_unused:
        assert err.count("CacheWarning: compiled programs are not kept") == 1, err
        assert why_unused in err
    else:
        assert err == ""
    return out.strip().rsplit(" ", 1)[0], out.strip().rsplit(" ", 1)[1]


def run(cache: Path | str | None, why_unused: str = "", **more: Any) -> tuple[str, str]:
    return finished(start(cache, **more), why_unused)


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a cache that one process has filled."""
    cache = tmp_path_factory.mktemp("cache")
    assert run(cache) == (RIGHT, "True")
    return cache


@pytest.fixture
def cache(filled: Path, tmp_path: Path) -> Path:
    """Return a copy of the filled cache, which a test may damage."""
    return Path(shutil.copytree(filled, tmp_path / "copy"))


def entries(cache: Path) -> list[Path]:
    return sorted(path for path in cache.glob("*.kernels") if not path.name.startswith("."))


def hidden(cache: Path) -> list[Path]:
    """Return the temporary files in the cache."""
    return list(cache.glob(".*"))


def test_a_warm_process_loads_no_compiler(filled: Path) -> None:
    assert run(filled) == (RIGHT, "False")
    assert not hidden(filled)


def test_a_warm_run_loads_no_compiler(tmp_path: Path) -> None:
    """A warm run loads no compiler, no modules that only a GPU needs, and no unused array libraries."""
    assert run(tmp_path, code=RUNS) == ("24", "True")
    assert run(tmp_path, code=RUNS) == ("24", "False")


def _truncate(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def _flip(path: Path) -> None:
    raw = bytearray(path.read_bytes())
    raw[len(raw) * 2 // 3] ^= 4
    path.write_bytes(bytes(raw))


def _flip_head(path: Path) -> None:
    raw = bytearray(path.read_bytes())
    raw[3] ^= 1
    path.write_bytes(bytes(raw))


def _empty(path: Path) -> None:
    path.write_bytes(b"")


def _folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


def _other(path: Path) -> None:
    """Overwrite an entry with the contents of another entry."""
    rest = [p for p in entries(path.parent) if p != path]
    path.write_bytes(rest[0].read_bytes())


def _unreadable(path: Path) -> None:
    path.chmod(0)


def _dangling(path: Path) -> None:
    path.unlink()
    path.symlink_to(path.parent / "nothing")


def _linked(path: Path) -> None:
    """Move an entry, and replace the entry with a symbolic link to the moved file.

    Through a symbolic link, an entry could be a file of another user.
    """
    elsewhere = path.parent / f"{path.name}.elsewhere"
    path.rename(elsewhere)
    path.symlink_to(elsewhere)


def _writable(path: Path) -> None:
    path.chmod(0o666)


def _given_away(path: Path) -> None:
    if os.getuid() == 0:  # only root may give files away
        os.chown(path, 12345, 12345)


@pytest.mark.parametrize("damage", [_truncate, _flip, _flip_head, _empty, _other, _unreadable, _dangling])
def test_damaged_entries_are_built_again(cache: Path, damage: Callable[[Path], None]) -> None:
    damaged = entries(cache)
    assert len(damaged) > 1
    for path in damaged:
        damage(path)
    assert run(cache)[0] == RIGHT
    assert run(cache) == (RIGHT, "False")
    assert not hidden(cache)


@pytest.mark.parametrize("damage", [_linked, _writable, _given_away])
def test_entries_that_others_may_have_written_are_not_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, damage: Callable[[Path], None]
) -> None:
    monkeypatch.setattr(kept, "cache_dir", lambda: tmp_path)
    key = kept.key_of("a", "kernel")
    kept.write_entry(key, "kernels", b"magic\n", b"code")
    assert kept.read_entry(key, "kernels", b"magic\n") == b"code"
    damage(*entries(tmp_path))
    refused = damage is not _given_away or os.getuid() == 0
    assert kept.read_entry(key, "kernels", b"magic\n") == (None if refused else b"code")
    kept.write_entry(key, "kernels", b"magic\n", b"again")
    assert kept.read_entry(key, "kernels", b"magic\n") == b"again"


def test_entries_that_cannot_be_written_are_said_once(cache: Path) -> None:
    """If entries cannot be written, one warning says so. Folders with the names of the entries prevent the writes."""
    for path in entries(cache):
        _folder(path)
    assert run(cache, "Is a directory".lower()) == (RIGHT, "True")
    assert not hidden(cache)


def test_the_version_of_the_compiler_is_known_without_loading_it() -> None:
    assert f'"version": "{version("numba")}"' in objects._numba_version()


def test_another_compiler_version_is_another_entry(cache: Path) -> None:
    """A process with another version of numba finds no usable entry, and does not change the existing entries."""
    before = {p: p.read_bytes() for p in entries(cache)}
    code = f"from vlang.runtime.compile import objects\nobjects._numba_version = lambda: '0.1'\n{COMPILES}"
    assert run(cache, code=code) == (RIGHT, "True")
    assert len(entries(cache)) == 2 * len(before)
    assert all(path.read_bytes() == raw for path, raw in before.items())
    assert run(cache) == (RIGHT, "False")


@pytest.mark.parametrize("count", [2, 8])
def test_cold_processes_side_by_side(tmp_path: Path, count: int) -> None:
    processes = [start(tmp_path / "shared") for _ in range(count)]
    assert [finished(p)[0] for p in processes] == [RIGHT] * count
    assert not hidden(tmp_path / "shared")
    assert run(tmp_path / "shared") == (RIGHT, "False")


def test_no_other_process_removes_an_entry_that_is_being_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A process that removes stale files just before the rename does not remove the temporary file, since the file is
    locked.
    """
    rename = os.replace

    def interfere(source: Path, target: Path) -> None:
        remove_leftovers(tmp_path)
        rename(source, target)

    monkeypatch.setattr(kept, "cache_dir", lambda: tmp_path)
    monkeypatch.setattr(os, "replace", interfere)
    kept.write_entry("key", "kernels", b"magic\n", b"code")
    assert kept.read_entry("key", "kernels", b"magic\n") == b"code"


def test_a_folder_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("here")
    assert run(tmp_path / "file", "file cannot be used: file exists") == (RIGHT, "True")
    assert run(tmp_path / "file" / "below", "below cannot be used: not a directory") == (RIGHT, "True")


def test_a_folder_that_others_could_write_to_is_not_used(cache: Path) -> None:
    cache.chmod(0o777)
    assert run(cache, f"other users can write to {cache}") == (RIGHT, "True")
    cache.chmod(0o700)
    assert run(cache) == (RIGHT, "False")


def test_a_folder_that_others_could_replace_is_not_used(cache: Path) -> None:
    """The permissions of the real folder decide whether the cache is used, even if the cache path is a symbolic link.
    """
    link = cache.parent / "link"
    link.mkdir()
    (link / "cache").symlink_to(cache)
    assert run(link / "cache") == (RIGHT, "False")
    cache.parent.chmod(0o777)
    assert run(link / "cache", f"can replace {cache}, since they can write to {cache.parent}") == (RIGHT, "True")
    cache.parent.chmod(0o1777)
    assert run(link / "cache") == (RIGHT, "False")
    cache.parent.chmod(0o700)


@pytest.mark.skipif(os.getuid() != 0, reason="only root may give files away")
def test_a_folder_of_someone_else_is_not_used(cache: Path) -> None:
    os.chown(cache, 12345, 12345)
    assert run(cache, "belongs to another user (uid 12345)") == (RIGHT, "True")


@pytest.mark.skipif(os.getuid() == 0, reason="root may write everywhere")
def test_a_folder_that_cannot_be_written(cache: Path) -> None:
    for path in entries(cache):
        path.unlink()
    cache.chmod(0o500)
    assert run(cache, "cannot be written") == (RIGHT, "True")
    cache.chmod(0o700)


def test_where_the_cache_is(tmp_path: Path) -> None:
    """The cache is at a relative path, in XDG_CACHE_HOME or in the home folder. Runs also succeed without a home
    folder.
    """
    assert run("relative", cwd=tmp_path)[0] == RIGHT
    assert entries(tmp_path / "relative")
    assert run(None, env={"XDG_CACHE_HOME": str(tmp_path / "xdg")})[0] == RIGHT
    assert entries(tmp_path / "xdg" / "vlang")
    assert stat.S_IMODE((tmp_path / "xdg" / "vlang").stat().st_mode) == 0o700
    assert run(None, env={"HOME": str(tmp_path / "home")})[0] == RIGHT
    assert entries(tmp_path / "home" / ".cache" / "vlang")
    assert run("", "/dev/null/.cache/vlang cannot be used", env={"HOME": "/dev/null"})[0] == RIGHT


def test_a_user_without_a_home() -> None:
    """Runs succeed under an unknown user id, without HOME and without an entry in the user table, as in containers."""
    code = ("import os, pwd\nos.environ.pop('HOME', None)\n"
            "def unknown(uid): raise KeyError(uid)\npwd.getpwuid = unknown\n") + COMPILES  # fmt: skip
    assert run(None, "there is no home folder", code=code) == (RIGHT, "True")


PARSES = """
import sys
from vlang import load
print(load("bfs").name, "lark" in sys.modules)
"""


def test_tables_of_the_parser_are_sealed_and_no_pickle(tmp_path: Path) -> None:
    assert run(tmp_path, code=PARSES)[0] == "bfs"
    (tables,) = tmp_path.glob("*.lark")
    assert json.loads(tables.read_bytes()[64:].partition(b"\n")[2])
    for damage in (_truncate, _flip, _empty, _linked):
        damage(tables)
        damaged = tables.read_bytes()
        assert run(tmp_path, code=PARSES)[0] == "bfs"
        assert not tables.is_symlink()
        if damage is not _linked:
            assert tables.read_bytes() != damaged, "built again"

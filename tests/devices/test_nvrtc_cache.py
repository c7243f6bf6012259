"""The cache of GPU machine code: each text is compiled once, the key covers all inputs, and machine code is checked
when it is loaded.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from vlang.errors import DeviceError, InternalError
from vlang.runtime.compile import nvrtc
from vlang.runtime.compile.cachedir import cache_dir
from vlang.runtime.compile.nvrtc import Rejected, compile_cubin, whole_source

ROOT = Path(__file__).resolve().parents[2]
TEXT = "typedef unsigned long long u64;"
ENTRIES = {"b": 'extern "C" __global__ void b() {}', "a": 'extern "C" __global__ void a(u64* p) {}'}


class Fake:
    """A compiler that counts its calls and records its arguments."""

    def __init__(self, version: str = "13.0", log: str = "") -> None:
        self.version, self.log, self.seen = version, log, list[tuple[str, tuple[str, ...]]]()

    def supports(self, architecture: str) -> bool:
        return architecture in ("sm_75", "sm_90")

    def compile(self, source: str, options: tuple[str, ...]) -> bytes:
        self.seen.append((source, options))
        if self.log:
            raise Rejected(self.log)
        return f"{len(source)} {options}\n".encode() * 100


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setenv("VLANG_CACHE", str(tmp_path / "cache"))
    cache_dir.cache_clear()
    yield tmp_path / "cache"
    cache_dir.cache_clear()


def test_the_source_and_the_options() -> None:
    fake = Fake()
    compile_cubin(TEXT, ENTRIES, "sm_90", fake)
    ((source, options),) = fake.seen
    assert source == f"{TEXT}\n{ENTRIES['a']}\n{ENTRIES['b']}\n" == whole_source(TEXT, ENTRIES)
    assert options == ("--std=c++17", "-fmad=false", "-arch=sm_90")


def test_a_second_time_nothing_is_compiled(cache: Path) -> None:
    first = compile_cubin(TEXT, ENTRIES, "sm_90", Fake())
    again = Fake()
    assert compile_cubin(TEXT, dict(reversed(ENTRIES.items())), "sm_90", again) == first
    assert again.seen == []
    assert len(list(cache.iterdir())) == 1


@pytest.mark.parametrize("change", ["text", "entries", "architecture", "compiler", "vlang"])
def test_what_it_depends_on(change: str, monkeypatch: pytest.MonkeyPatch) -> None:
    compile_cubin(TEXT, ENTRIES, "sm_90", Fake())
    if change == "vlang":
        monkeypatch.setattr(nvrtc, "__version__", "9.9.9")
    fake = Fake("13.1" if change == "compiler" else "13.0")
    compile_cubin(TEXT + " " * (change == "text"), {"b": ENTRIES["b"]} if change == "entries" else ENTRIES,
                  "sm_75" if change == "architecture" else "sm_90", fake)  # fmt: skip
    assert len(fake.seen) == 1


@pytest.mark.parametrize("damage", ["cut", "empty", "byte", "head", "foreign"])
def test_a_damaged_entry_is_made_again(cache: Path, damage: str) -> None:
    right = compile_cubin(TEXT, ENTRIES, "sm_90", Fake())
    (entry,) = cache.iterdir()
    raw = bytearray(entry.read_bytes())
    if damage == "foreign":
        compile_cubin(TEXT, ENTRIES, "sm_75", Fake())
        (other,) = set(cache.iterdir()) - {entry}
        raw = bytearray(other.read_bytes())
        other.unlink()
    elif damage == "byte":
        raw[200] ^= 1
    elif damage == "head":
        raw[3] ^= 1
    else:
        del raw[0 if damage == "empty" else -10 :]
    entry.write_bytes(raw)
    for expected in (1, 0):
        fake = Fake()
        assert compile_cubin(TEXT, ENTRIES, "sm_90", fake) == right
        assert len(fake.seen) == expected
    assert [path.suffix for path in cache.iterdir()] == [".cubin"]  # no partial file is left


def test_without_a_cache_it_works_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VLANG_CACHE", "/dev/null/nothing")
    cache_dir.cache_clear()
    fake = Fake()
    assert compile_cubin(TEXT, ENTRIES, "sm_90", fake) == compile_cubin(TEXT, ENTRIES, "sm_90", fake)
    assert len(fake.seen) == 2


def test_a_rejected_source_is_kept(cache: Path) -> None:
    log = "\n".join(f"vlang.cu({k}): error: {k}" for k in range(1, 31))
    with pytest.raises(InternalError) as caught:
        compile_cubin(TEXT, ENTRIES, "sm_90", Fake(log=log))
    (kept,) = cache.iterdir()
    lines = str(caught.value).splitlines()
    assert lines[0] == ("NVRTC rejected the code that vlang wrote; this is a bug in vlang, please report it with the "
                        f"program and the source kept in {kept} (--std=c++17 -fmad=false -arch=sm_90).")
    assert lines[1] == "vlang.cu(1): error: 1"
    assert lines[-1] == "... 18 more lines"
    assert kept.read_text() == whole_source(TEXT, ENTRIES)
    assert compile_cubin(TEXT, ENTRIES, "sm_90", Fake())  # no wrong entry was cached


def test_a_rejected_source_is_kept_without_a_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("VLANG_CACHE", "/dev/null/nothing")
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    cache_dir.cache_clear()
    with pytest.raises(InternalError, match="kept in"):
        compile_cubin(TEXT, ENTRIES, "sm_90", Fake(log="no"))
    assert [path.read_text() for path in tmp_path.glob("vlang-*/rejected-*.cu")] == [whole_source(TEXT, ENTRIES)]


def test_an_architecture_that_the_compiler_does_not_know() -> None:
    with pytest.raises(DeviceError, match=r"NVRTC 13\.0 does not know the GPU's architecture, sm_130; .*pip install"):
        compile_cubin(TEXT, ENTRIES, "sm_130", Fake())


def test_a_new_process_compiles_nothing(cache: Path) -> None:
    code = ("import sys; sys.path.insert(0, '.')\n"
            "from tests.devices.test_nvrtc_cache import *\n"
            "fake = Fake(); compile_cubin(TEXT, ENTRIES, 'sm_90', fake); print(len(fake.seen))")  # fmt: skip
    for expected in ("1", "0"):
        done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True,
                              env={**os.environ, "VLANG_CACHE": str(cache)})  # fmt: skip
        assert (done.returncode, done.stderr, done.stdout.strip()) == (0, "", expected)


# ------------------------------------------------------------------------ the version of the library
class Library(ModuleType):
    """A stand-in for CuPy's module of NVRTC.

    Attributes:
        asked: how often the version was requested. A request loads the library.
    """

    def __init__(self, version: tuple[int, int]) -> None:
        super().__init__("cupy_backends.cuda.libs.nvrtc")
        self.told, self.asked = version, 0

    def getVersion(self) -> tuple[int, int]:
        """Return the version. CuPy uses this name."""
        self.asked += 1
        return self.told


def version_of(library: Library, path: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """Return the version of NVRTC that a new process finds if CuPy loads this library from a path."""
    package = ModuleType("cupy_backends.cuda.libs")
    vars(package).update(nvrtc=library)
    for name in ("cupy_backends", "cupy_backends.cuda"):
        monkeypatch.setitem(sys.modules, name, ModuleType(name))
    monkeypatch.setitem(sys.modules, package.__name__, package)
    monkeypatch.setattr(nvrtc, "_library_path", lambda: path)
    return nvrtc.CupyCompiler().version


def test_the_library_is_loaded_once_until_it_changes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "libnvrtc.so.13"
    path.write_bytes(b"first")
    first = Library((13, 0))
    assert [version_of(first, str(path), monkeypatch) for _ in range(3)] == ["13.0"] * 3
    assert first.asked == 2  # one call loads the library
    path.write_bytes(b"a newer library")
    newer = Library((13, 1))
    assert version_of(newer, str(path), monkeypatch) == "13.1"
    assert newer.asked
    path.unlink()
    assert version_of(Library((12, 9)), "", monkeypatch) == "12.9"
    again = Library((12, 9))
    assert version_of(again, "", monkeypatch) == "12.9"
    assert again.asked  # a library whose file is unknown is asked in every process
    monkeypatch.setenv("CUDA_HOME", str(tmp_path))
    assert version_of(Library((14, 0)), "", monkeypatch) == "14.0"

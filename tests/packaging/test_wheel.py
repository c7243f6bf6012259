"""The wheel, built from the sdist, has exactly the modules and data of the tree, and works in a bare environment."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
import zipfile
from collections.abc import Sequence
from importlib.metadata import Distribution, distribution, version
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from tests.sample import EXHAUSTIVE

ROOT = Path(__file__).resolve().parents[2]
KINDS = (".py", ".pyi", ".lark", ".vp", ".cuh", ".md")


def expected() -> set[str]:
    """Return every file of the source folders that belongs in the wheel, with its name in the wheel."""
    files = {"vlang/py.typed"}
    for folder, name in (("vlang", "vlang"), ("runtime", "vlang/runtime"), ("stdlib", "vlang/stdlib"),
                         ("docs/diagnostics", "vlang/diagnostics")):
        for file in (ROOT / folder).rglob("*"):
            if file.suffix in KINDS and "__pycache__" not in file.parts:
                files.add(f"{name}/{file.relative_to(ROOT / folder).as_posix()}")
    return files


def quietly(command: Sequence[str | Path], folder: Path) -> str:
    """Run a command and return its output. If the command fails, fail with this output."""
    env = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "PYTHONHOME")}
    done = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return done.stdout


def declared() -> list[Distribution]:
    """Return the distributions that vlang's base dependencies install, and no others."""
    found: dict[str, Distribution] = {}
    waiting = [Requirement(text) for text in distribution("vlang").requires or ()]
    while waiting:
        wanted = waiting.pop()
        if wanted.name not in found and (wanted.marker is None or wanted.marker.evaluate({"extra": ""})):
            found[wanted.name] = distribution(wanted.name)
            waiting += [Requirement(text) for text in found[wanted.name].requires or ()]
    return list(found.values())


@pytest.fixture(scope="module")
def dist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with an sdist of the tree, and the wheel that is built from this sdist."""
    if importlib.util.find_spec("build") is None:
        pytest.skip("the package `build` is not installed")
    if importlib.util.find_spec("setuptools") is None or int(version("setuptools").split(".")[0]) < 77:
        pytest.skip("setuptools 77 is not installed, and an isolated build would need the network")
    out = tmp_path_factory.mktemp("dist")
    source = tmp_path_factory.mktemp("tree")
    files = subprocess.run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], cwd=ROOT,
                           capture_output=True, check=False)  # fmt: skip
    if files.returncode:
        pytest.skip("not a git checkout: the tree cannot be distinguished from build results")
    for name in files.stdout.decode().split("\0"):
        origin, target = ROOT / name, source / name
        if name and (origin.is_symlink() or origin.is_file()):
            target.parent.mkdir(parents=True, exist_ok=True)
            if origin.is_symlink():
                target.symlink_to(os.readlink(origin))
            else:
                target.write_bytes(origin.read_bytes())
    quietly([sys.executable, "-m", "build", "--no-isolation", "--outdir", out, source], source)
    return out


@pytest.fixture(scope="module")
def wheel(dist: Path) -> Path:
    (built,) = dist.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def bare(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return an environment in which pip has installed only the wheel and its declared dependencies."""
    if importlib.util.find_spec("pip") is None:
        pytest.skip("pip is not installed here")
    place = tmp_path_factory.mktemp("bare")
    quietly([sys.executable, "-m", "venv", "--without-pip", place], place)
    (site,) = place.glob("lib/python*/site-packages")
    for found in declared():
        for top in {file.parts[0] for file in found.files or () if file.parts[0] not in ("..", "__pycache__")}:
            (site / top).symlink_to(Path(str(found.locate_file(top))))
    quietly([sys.executable, "-m", "pip", "--python", place / "bin" / "python", "install", "--quiet", "--no-index",
             "--no-deps", wheel], place)  # fmt: skip
    return place


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a new cache directory, so that the environment compiles every kernel."""
    return tmp_path_factory.mktemp("cache")


def test_the_wheel_is_pure(wheel: Path) -> None:
    assert wheel.name.endswith("-py3-none-any.whl")


def test_the_wheel_holds_the_tree_and_nothing_else(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = {name for name in archive.namelist() if ".dist-info/" not in name}
    assert names == expected()


@pytest.mark.skipif(not EXHAUSTIVE, reason="the wheel is built from the sdist, too")
def test_pip_installs_the_same_from_the_sdist(dist: Path, tmp_path: Path) -> None:
    (sdist,) = dist.glob("*.tar.gz")
    site = tmp_path / "site"
    quietly([sys.executable, "-m", "pip", "install", "--quiet", "--no-index", "--no-deps", "--no-build-isolation",
             "--no-compile", "--target", site, sdist], tmp_path)  # fmt: skip
    assert {path.name for path in site.iterdir()} == {"bin", "vlang", f"vlang-{version('vlang')}.dist-info"}
    assert {path.relative_to(site).as_posix() for path in (site / "vlang").rglob("*") if path.is_file()} == expected()


def test_only_vlang_is_installed(bare: Path) -> None:
    (site,) = bare.glob("lib/python*/site-packages")
    assert {path.name for path in site.iterdir() if not path.is_symlink()} == {
        "vlang", f"vlang-{version('vlang')}.dist-info"}  # fmt: skip


@pytest.mark.parametrize(
    ("arguments", "shown"),
    [
        (("list",), "pagerank"),
        (("run", "bfs", "karate", "source=1", "--json"), '"depth"'),
        (("run", "my.vp", "graph.csv", "-o", "-"), "b,1"),
        (("check", "my.vp"), "my.vp"),
        (("explain", "bfs", "--stage", "cuda"), "struct "),
        (("explain", "bfs", "--stage", "plan"), "push"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_the_command_works_in_a_bare_environment(
    bare: Path, tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...], shown: str
) -> None:
    """The commands work in a bare environment. The commands use the parser, library programs, readers, CPU kernels and
    GPU text, that is, all data files of the wheel.
    """
    monkeypatch.setenv("VLANG_CACHE", str(cache))
    (tmp_path / "my.vp").write_text("program my\n\nvertex friends: int = count(true for u -- self)\n")
    (tmp_path / "graph.csv").write_text("source,target\na,b\n")
    assert shown in quietly([bare / "bin" / "vlang", *arguments], tmp_path)


def test_python_imports_the_installed_package(bare: Path, tmp_path: Path) -> None:
    code = "from vlang import runtime, stdlib, syntax\nprint(runtime.__file__, stdlib.__file__, syntax.__file__)"
    files = quietly([bare / "bin" / "python", "-c", code], tmp_path).split()
    assert len(files) == 3
    assert all(Path(file).is_relative_to(bare) for file in files)


def test_the_links_are_relative_and_committed() -> None:
    for name, target in (("runtime", "runtime"), ("stdlib", "stdlib"), ("diagnostics", "docs/diagnostics")):
        link = ROOT / "vlang" / name
        assert link.is_symlink()
        assert os.readlink(link) == f"../{target}"

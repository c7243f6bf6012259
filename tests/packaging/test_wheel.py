"""The wheel, built from the sdist, holds exactly the modules and data of the tree, and works when installed."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
import zipfile
from importlib.metadata import version
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
KINDS = (".py", ".pyi", ".lark", ".vp", ".cuh")


def expected() -> set[str]:
    """Every file of the three source folders that belongs in the wheel, by its name there."""
    files = {"vlang/py.typed"}
    for folder, name in (("vlang", "vlang"), ("runtime", "vlang/runtime"), ("stdlib", "vlang/stdlib")):
        for file in (ROOT / folder).rglob("*"):
            if file.suffix in KINDS and "__pycache__" not in file.parts:
                files.add(f"{name}/{file.relative_to(ROOT / folder).as_posix()}")
    return files


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if importlib.util.find_spec("build") is None:
        pytest.skip("the package `build` is not installed")
    if importlib.util.find_spec("setuptools") is None or int(version("setuptools").split(".")[0]) < 77:
        pytest.skip("setuptools 77 is not installed, and an isolated build would need the network")
    out = tmp_path_factory.mktemp("dist")
    source = out / "tree"
    files = subprocess.run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], cwd=ROOT,
                           capture_output=True, check=False)  # fmt: skip
    if files.returncode:
        pytest.skip("not a git checkout: the tree cannot be told from build results")
    for name in files.stdout.decode().split("\0"):
        origin, target = ROOT / name, source / name
        if name and (origin.is_symlink() or origin.is_file()):
            target.parent.mkdir(parents=True, exist_ok=True)
            if origin.is_symlink():
                target.symlink_to(os.readlink(origin))
            else:
                target.write_bytes(origin.read_bytes())
    done = subprocess.run([sys.executable, "-m", "build", "--no-isolation", "--outdir", str(out), str(source)],
                          capture_output=True, text=True)  # fmt: skip
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    (built,) = out.glob("*.whl")
    return built


def test_the_wheel_is_pure(wheel: Path) -> None:
    assert wheel.name.endswith("-py3-none-any.whl")


def test_the_wheel_holds_the_tree_and_nothing_else(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = {name for name in archive.namelist() if ".dist-info/" not in name}
    assert names == expected()


def test_an_installed_wheel_runs(wheel: Path, tmp_path: Path) -> None:
    site = tmp_path / "site"
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(site)
    code = (
        "import vlang, vlang.stdlib, pathlib\n"
        "assert pathlib.Path(vlang.__file__).is_relative_to(pathlib.Path.cwd() / 'site')\n"
        "result = vlang.load('bfs')(vlang.Graph.read('karate'), source=1)\n"
        "assert result['depth'].max() == 3\n"
    )
    env = {**os.environ, "PYTHONPATH": str(site)}
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_the_links_are_relative_and_committed() -> None:
    for name in ("runtime", "stdlib"):
        link = ROOT / "vlang" / name
        assert link.is_symlink()
        assert os.readlink(link) == f"../{name}"

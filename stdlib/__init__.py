"""The programs that come with vlang: one `.vp` file each."""

from __future__ import annotations

from pathlib import Path

__all__ = ["names", "path", "source", "summary"]

_FOLDER = Path(__file__).resolve().parent


def names() -> tuple[str, ...]:
    """The names of all programs, in alphabetical order."""
    return tuple(sorted(file.stem for file in _FOLDER.glob("*.vp")))


def path(name: str) -> Path:
    """The file of the program `name`. Raises KeyError if there is none."""
    file = _FOLDER / f"{name}.vp"
    if not name.isidentifier() or not file.is_file():
        raise KeyError(name)
    return file


def source(name: str) -> str:
    """The text of the program `name`. Raises KeyError if there is none."""
    return path(name).read_text(encoding="utf-8")


def summary(name: str) -> str:
    """What the program `name` computes, in one line: the first line of its text. Raises KeyError if there is none."""
    return source(name).partition("\n")[0].lstrip("# ").strip()

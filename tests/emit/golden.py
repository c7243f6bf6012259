"""Expected CUDA texts. `python -m tests.emit.golden` replaces the expected texts with the current output of the
compiler.
"""

from __future__ import annotations

from pathlib import Path

from vlang import load

__all__ = ["NAMES", "golden", "written"]

NAMES = ("bfs", "pagerank", "sssp_tree")
_FOLDER = Path(__file__).parent / "golden"


def golden(name: str) -> str:
    """Return the expected text."""
    return (_FOLDER / f"{name}.cu").read_text(encoding="utf-8")


def written(name: str) -> str:
    """Return the current text of the compiler, without the list of skeletons, which may grow."""
    lines = load(name).explain("cuda").splitlines()
    return "\n".join(lines[lines.index("") + 1 :]) + "\n"


if __name__ == "__main__":
    for one in NAMES:
        (_FOLDER / f"{one}.cu").write_text(written(one), encoding="utf-8")

"""The programs that the functions run, from the standard library or the folder `programs`. Each program is loaded once.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

from vlang.api.program import Program, load
from vlang.runtime.graph.graph import Graph
from vlang.runtime.results.result import Result

__all__ = ["FOLDER", "program", "run"]

FOLDER = Path(__file__).parent / "programs"


@cache
def program(name: str) -> Program:
    """Return a program by its name, compiled for 64 bits because NetworkX computes in 64 bits.

    The folder `programs` takes precedence over the standard library.
    """
    own = FOLDER / f"{name}.vp"
    return load(own if own.is_file() else name, precision=64)


def run(name: str, graph: Graph, /, **arguments: Any) -> Result:
    """The result of a program on a graph."""
    return program(name)(graph, **arguments)

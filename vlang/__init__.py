"""vlang: vertex programs on graphs, compiled.

    >>> import vlang
    >>> bfs = vlang.load("bfs")                      # a program by name, or a .vp file
    >>> result = bfs(vlang.Graph.read("karate"), source=1)
    >>> result["depth"][:5]
    array([0, 1, 1, 1, 1], dtype=int32)

Importing this package loads neither NumPy nor the compiler: every name below is fetched when it is first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

__version__ = "0.1.0"

__all__ = [
    "BindError",
    "DeviceError",
    "DiskError",
    "Error",
    "Graph",
    "GraphError",
    "OutOfMemory",
    "Program",
    "ProgramError",
    "Result",
    "Round",
    "__version__",
    "compile",
    "load",
]

if TYPE_CHECKING:
    from vlang.program import Program, compile, load
    from vlang.runtime.errors import BindError, DeviceError, DiskError, GraphError, OutOfMemory, ProgramError
    from vlang.runtime.errors import VlangError as Error
    from vlang.runtime.graph.graph import Graph
    from vlang.runtime.result import Result
    from vlang.runtime.trace import Round

# Where each public name lives; `Error` is spelled differently at home.
_HOMES = {
    "BindError": "vlang.runtime.errors:BindError",
    "DeviceError": "vlang.runtime.errors:DeviceError",
    "DiskError": "vlang.runtime.errors:DiskError",
    "Error": "vlang.runtime.errors:VlangError",
    "Graph": "vlang.runtime.graph.graph:Graph",
    "GraphError": "vlang.runtime.errors:GraphError",
    "OutOfMemory": "vlang.runtime.errors:OutOfMemory",
    "Program": "vlang.program:Program",
    "ProgramError": "vlang.runtime.errors:ProgramError",
    "Result": "vlang.runtime.result:Result",
    "Round": "vlang.runtime.trace:Round",
    "compile": "vlang.program:compile",
    "load": "vlang.program:load",
    "load_ipython_extension": "vlang.editor.notebook:load_ipython_extension",  # for `%load_ext vlang`
}


def __getattr__(name: str) -> object:
    """Fetch a public name from the module that defines it (PEP 562), once."""
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'vlang' has no attribute {name!r}")
    from importlib import import_module

    module, _, attribute = home.partition(":")
    value: object = getattr(import_module(module), attribute)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)

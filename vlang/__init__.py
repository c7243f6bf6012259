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
    "CacheWarning",
    "ChaosError",
    "CheckpointError",
    "ClusterError",
    "DeviceError",
    "DiskError",
    "Error",
    "Graph",
    "GraphError",
    "InternalError",
    "Lowered",
    "Options",
    "OutOfMemory",
    "Program",
    "ProgramError",
    "RangeError",
    "ResumeError",
    "Result",
    "Round",
    "TrapError",
    "__version__",
    "compile",
    "load",
]

if TYPE_CHECKING:
    from vlang.api.lowered import Lowered
    from vlang.api.program import Program, compile, load
    from vlang.errors import (
        BindError,
        CacheWarning,
        ChaosError,
        CheckpointError,
        ClusterError,
        DeviceError,
        DiskError,
        GraphError,
        InternalError,
        OutOfMemory,
        ProgramError,
        RangeError,
        ResumeError,
        TrapError,
    )
    from vlang.errors import VlangError as Error
    from vlang.options import Options
    from vlang.runtime.engine.trace import Round
    from vlang.runtime.graph.graph import Graph
    from vlang.runtime.results.result import Result

# The module of each public name; `Error` has another name in its module.
_HOMES = {
    "BindError": "vlang.errors:BindError",
    "CacheWarning": "vlang.errors:CacheWarning",
    "ChaosError": "vlang.errors:ChaosError",
    "CheckpointError": "vlang.errors:CheckpointError",
    "ClusterError": "vlang.errors:ClusterError",
    "DeviceError": "vlang.errors:DeviceError",
    "DiskError": "vlang.errors:DiskError",
    "Error": "vlang.errors:VlangError",
    "Graph": "vlang.runtime.graph.graph:Graph",
    "GraphError": "vlang.errors:GraphError",
    "InternalError": "vlang.errors:InternalError",
    "Lowered": "vlang.api.lowered:Lowered",
    "Options": "vlang.options:Options",
    "OutOfMemory": "vlang.errors:OutOfMemory",
    "Program": "vlang.api.program:Program",
    "ProgramError": "vlang.errors:ProgramError",
    "RangeError": "vlang.errors:RangeError",
    "ResumeError": "vlang.errors:ResumeError",
    "Result": "vlang.runtime.results.result:Result",
    "Round": "vlang.runtime.engine.trace:Round",
    "TrapError": "vlang.errors:TrapError",
    "compile": "vlang.api.program:compile",
    "load": "vlang.api.program:load",
    "load_ipython_extension": "vlang.interop.notebook:load_ipython_extension",  # for `%load_ext vlang`
}


def __getattr__(name: str) -> object:
    """Fetch a public name from the module that defines it (PEP 562), once."""
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'vlang' has no attribute {name!r}")
    from importlib import import_module  # start-up

    module, _, attribute = home.partition(":")
    value: object = getattr(import_module(module), attribute)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)

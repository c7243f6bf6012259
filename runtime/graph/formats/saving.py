"""Writes a graph to a file in the format of the file's suffix."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from vlang.errors import GraphError
from vlang.runtime.graph.formats.format import GraphFormat
from vlang.runtime.graph.formats.table import FORMATS
from vlang.runtime.graph.packed_text import PACKED, packed_output
from vlang.runtime.storage.output import whole_file

if TYPE_CHECKING:
    from vlang.runtime.graph.graph import Graph

__all__ = ["SUFFIXES", "save_graph", "writer_of"]

SUFFIXES = tuple(suffix for one in FORMATS for suffix in one.suffixes)
"""The suffixes under which graphs are written as lists of edges."""


def writer_of(path: str | Path) -> tuple[GraphFormat, str, str] | None:
    """The format, the suffix, and the compression suffix (or "") of a file name; None if no format has its suffix.

    Raises GraphError for a compressed file of a binary format.
    """
    name = str(path)
    packed = next((one for one in PACKED if name.endswith(one)), "")
    for one in FORMATS:
        for suffix in one.suffixes:
            if name.removesuffix(packed).endswith(suffix):
                if packed and not one.packs:
                    raise GraphError(f"{name}: {suffix} is not a text, and is not compressed; leave {packed} out")
                return one, suffix, packed
    return None


def save_graph(graph: Graph, path: str | Path, layout: str | None, disks: Sequence[str | Path]) -> tuple[str, ...]:
    """Write a graph to a file.

    Args:
        graph: the graph.
        path, layout, disks: see `Graph.save`.
    """
    if str(path).endswith(".vg"):
        from vlang.runtime.graph.paged.in_memory import save as save_pages  # start-up

        save_pages(graph.plain(), Path(path), layout=layout or "degree", disks=list(disks))
        return ()
    if layout is not None or disks:
        raise GraphError(f"{path}: `layout` and `disks` are for page files; give it a name that ends in .vg")
    found = writer_of(path)
    if found is None:
        if Path(path).suffix not in ("", ".npz"):
            raise GraphError(f"{path}: graphs are saved as .vg, .npz, {', '.join(SUFFIXES)}")
        from vlang.runtime.graph.formats.npz_arrays import save  # start-up

        save(graph.plain(), Path(path))
        return ()
    one, suffix, packed = found
    with whole_file(path) as file, packed_output(file, packed) as out:
        return tuple(one.write(graph, out, str(path), suffix))

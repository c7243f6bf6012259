"""The memory and disk space that a conversion needs, from the counts of a graph that has not been read yet."""

from __future__ import annotations

from collections.abc import Sequence

from vlang.errors import OutOfMemory
from vlang.records import dataclass
from vlang.runtime.convert.budget import Budget
from vlang.runtime.convert.entries import Sorter
from vlang.runtime.convert.source import Reading
from vlang.runtime.graph.edges.ends import Ends, parse_column
from vlang.runtime.graph.edges.shape import Shape
from vlang.runtime.graph.estimate import estimate
from vlang.runtime.graph.paged.page_writer import DEFAULT_PAGE_BYTES
from vlang.runtime.storage.available import in_bytes
from vlang.runtime.threads.processors import available_threads

__all__ = ["Demand", "announced"]

_ORDERING = {"ids": 0, "degree": 17, "hubs": 29}
"""Bytes per vertex while the order is computed: degrees of both directions, and keys that are sorted, or numbers that
are looked up."""
_TEMPORARY = 32  # bytes per edge of temporary files, besides its columns
_LARGE = 1 << 24  # without a budget, the need of a graph with fewer vertices and edges is not announced


@dataclass(frozen=True)
class Demand:
    """The memory of a conversion.

    Attributes:
        ordering: bytes of the arrays over vertices while their order is computed.
        state: bytes of the arrays over vertices while entries are sorted.
        page: bytes of a page.
        widths: bytes per value, of each column.
    """

    ordering: int
    state: int
    page: int
    widths: Sequence[int]

    @staticmethod
    def of(n: int, directions: int, widths: Sequence[int], layout: str, page_bytes: int) -> Demand:
        """The memory to write a page file.

        Args:
            n: the number of vertices.
            directions: 2 for a directed graph, else 1.
            widths: bytes per value, of each column.
            layout: "degree", "ids" or "hubs".
            page_bytes: the size in bytes at which a page ends.
        """
        page = max(page_bytes, (1 << 14) * (4 + sum(widths))) + (1 << 16)
        return Demand(_ORDERING[layout] * n, (4 * directions + 3) * n, page, widths)

    def each(self, threads: int) -> int:
        """Bytes per entry of a bucket."""
        return Sorter.bytes_an_entry(self.widths, threads)


def announced(spec: str, reading: Reading, memory: int | None, layout: str, threads: int | None = None) -> str:
    """A sentence that says what a conversion will need, before anything is read.

    Args:
        spec: the path or generator that is converted.
        reading: how it is read.
        layout: "degree", "ids" or "hubs".
        memory: the budget in bytes; None for the default, with which only large graphs are announced.
        threads: how many threads will be used; None for one per processor.

    Returns "" if the counts cannot be known without reading the file. Raises OutOfMemory if the budget is known to be
    too small.
    """
    ends = Ends(parse_column("source_column", reading.source_column),
                parse_column("target_column", reading.target_column), reading.vertices)  # fmt: skip
    threads = threads or available_threads()
    shape = estimate(spec, reading.directed, reading.symmetrize, reading.weights, threads, ends, reading.columns)
    if shape is None or (memory is None and shape.n + shape.m < _LARGE):
        return ""
    budget = Budget(memory, threads, lambda _name, _fraction: None)
    directions = 2 if shape.directed else 1
    widths = [dtype.itemsize for dtype in shape.columns.values()]
    demand = Demand.of(shape.n, directions, widths, layout, DEFAULT_PAGE_BYTES)
    least = budget.least(demand.ordering, demand.state, demand.page, demand.each)
    about = "" if shape.exact else "about "
    listed = shape.listed or shape.m
    temporary, file = (_TEMPORARY + 2 * sum(widths)) * listed, _file_bytes(shape, directions, sum(widths), layout)
    text = (f"converting {spec}, {about}{shape.n:,} vertices and {listed:,} edges, needs {about}{in_bytes(least)} of "
            f"memory, of {in_bytes(budget.total)}; temporary files take up to {in_bytes(temporary)}, and the page file "
            f"{about}{in_bytes(file)}")
    if least > budget.total and shape.exact and (not widths or max(demand.ordering, demand.state) > budget.total):
        raise OutOfMemory(f"{text}: give --memory {-(-least // (1 << 20))}M")
    return text if least <= budget.total else f"warning: {text}"


def _file_bytes(shape: Shape, directions: int, width: int, layout: str) -> int:
    """The bytes of a page file, without directories and alignment."""
    a_vertex = 4 * directions + 2 * directions + (0 if layout == "ids" else 4)
    return shape.m * directions * (4 + width) + shape.n * a_vertex + shape.ids

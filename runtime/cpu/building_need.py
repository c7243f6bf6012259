"""The host memory that the adjacencies of a graph take while they are built, and after that.

The steps are in the order in which `vlang.runtime.graph.topology` builds adjacencies.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import field

from vlang.records import dataclass
from vlang.runtime.engine.state import DTYPES
from vlang.runtime.graph.edges.columns import converts
from vlang.runtime.graph.edges.shape import Shape
from vlang.runtime.graph.topology.build import bytes_in_flight
from vlang.runtime.plan.derived import COMMON, OPPOSITE, ORDINAL, PLACE
from vlang.runtime.plan.plan import Plan, column_between

__all__ = ["ID", "OFFSET", "Account", "Building"]

ID = 4  # bytes of a neighbour's number
OFFSET = 8  # bytes of an offset into the edges
_SUMMED = 48  # temporary bytes per entry for the sums of an edge column between two vertices
_LOCAL = 4  # bytes of an offset inside a page


@dataclass
class Account:
    """The bytes of memory in use, by purpose, and the peak since the last call of `phase`."""

    held: dict[str, int] = field(default_factory=dict)
    most: int = 0

    @property
    def now(self) -> int:
        return sum(self.held.values())

    def hold(self, name: str, nbytes: int) -> None:
        self.held[name] = self.held.get(name, 0) + nbytes
        self.passing(0)

    def passing(self, nbytes: int) -> None:
        """Account for memory that is both allocated and freed in this step."""
        self.most = max(self.most, self.now + nbytes)

    def phase(self) -> int:
        """End a phase; returns the peak of memory in this phase."""
        most, self.most = self.most, self.now
        return most


@dataclass
class Building:
    """Accounts for the adjacencies of a graph: temporary memory during construction, and memory that stays in use."""

    shape: Shape
    account: Account
    _there: set[str] = field(default_factory=set)
    _stored: set[tuple[str, str]] = field(default_factory=set)
    _read: set[tuple[str, str]] = field(default_factory=set)

    def keep(self, kind: str) -> None:
        """Account for an adjacency that exists before the run."""
        self._there.add(kind)
        self._stored |= {(kind, name) for name in self.shape.columns if name not in self.shape.ruled}
        self.account.hold("adjacency", self._rows(kind))
        self.account.hold("columns", self.shape.entries(kind) * self.shape.width)

    def build(self, kind: str, columns: Collection[str]) -> None:
        """Account for building an adjacency with `columns`, and for building the adjacencies that it is derived from.

        The first adjacency that is built gets all columns.
        """
        kind = self.shape.kept(kind)
        if kind in self._there:
            return
        if self.shape.streamed:  # only degrees, which passes over lists of vertices read
            self._there.add(kind)
            self.account.hold("degrees", ID * self.shape.n * (3 if kind == "both" else 1))
            return
        if kind == "both":
            self.build("in", columns)
            self.build("out", columns)
            self.account.passing(2 * self._rows(kind) - self.shape.entries(kind) * ID)
            self.account.hold("adjacency", self._rows(kind))
        else:
            self._sort(kind, columns)
        self._there.add(kind)

    def read(self, kind: str, columns: Mapping[str, str]) -> None:
        """Account for columns that a rule computes, and for columns that kernels do not read in the stored type."""
        kind = self.shape.kept(kind)
        if self.shape.streamed:
            return
        for name, dtype in columns.items():
            if name == COMMON and (kind, name) not in self._read:
                self._read.add((kind, name))
                self.neighbours()
                self.account.hold("columns", ID * (self.shape.entries("both") + self.shape.entries(kind)))
            if name == OPPOSITE and (kind, name) not in self._read:  # the entries are transposed, with their indices
                self._read.add((kind, name))
                entries = self.shape.entries(kind)
                self.account.hold("columns", ID * entries)
                self.account.passing(self._rows(kind) + ID * entries + bytes_in_flight(self.shape.n, entries, True))
            if name in (ORDINAL, PLACE) and (kind, name) not in self._read:
                self._read.add((kind, name))
                self.account.hold("columns", ID * self.shape.entries(kind))
            if (kind, name) in self._read or name not in self.shape.columns:
                continue
            self._read.add((kind, name))
            stored = self.shape.columns[name]
            self._store(kind, name)
            if converts(stored, DTYPES[dtype]):
                self.account.hold("columns", self.shape.entries(kind) * DTYPES[dtype].itemsize)

    def _store(self, kind: str, name: str) -> None:
        """Account for the values of a column in the order of an adjacency that was built without this column."""
        if (kind, name) in self._stored:
            return
        self._stored.add((kind, name))
        size = self.shape.entries(kind) * self.shape.columns[name].itemsize
        if name not in self.shape.ruled and kind == "both":
            self._store("in", name)
            self._store("out", name)
        elif name not in self.shape.ruled:  # the entries are transposed again, with the column
            self.account.passing(size + self._rows(kind) + self._in_flight(True))
        self.account.hold("columns", size)

    def _sort(self, kind: str, columns: Collection[str]) -> None:
        """Account for the counting sort of the listed edges with all columns, or of an adjacency with `columns`."""
        shape, account, m = self.shape, self.account, self.shape.m
        kept = [c for c in shape.columns if c not in shape.ruled and (c in columns or not self._there)]
        account.hold("adjacency", self._rows(kind))
        account.hold("columns", m * sum(shape.columns[name].itemsize for name in kept))
        self._stored |= {(kind, name) for name in kept}
        account.passing(self._in_flight(bool(kept)))
        account.held["edges"] = 0

    def _in_flight(self, columns: bool) -> int:
        """The temporary bytes of a counting sort of all edges, without or with columns."""
        shape = self.shape
        more = shape.m * (ID + (OFFSET if columns else 0))  # in order of degree, the first bucket may have most rows
        return bytes_in_flight(shape.n, shape.m, columns) + (more if shape.ordered else 0)

    def neighbours(self) -> None:
        """Account for the lists of distinct neighbours, which are at most as long as the rows of both directions."""
        if "near" not in self._there:
            self._there.add("near")
            self.build("both", ())
            most = self.shape.entries("both")
            self.account.hold("adjacency", ID * most + OFFSET * (self.shape.n + 1))
            self.account.passing(8 * most)

    def between(self, plan: Plan) -> None:
        """Account for the sums of an edge column over all edges between two neighbours."""
        for way, dtype, name in filter(None, map(column_between, plan.slots)):
            self.build(self.shape.kept(way), (name,) if name else ())
            most = self.shape.entries("both")
            self.account.hold("columns", DTYPES[dtype].itemsize * most)
            self.account.passing(_SUMMED * most)

    def cut(self, kind: str) -> None:
        """Account for cutting an adjacency into pages."""
        account, n = self.account, self.shape.n
        if self.shape.streamed:
            return
        account.hold("pages", _LOCAL * n)
        account.passing(OFFSET * n)

    def _rows(self, kind: str) -> int:
        return ID * self.shape.entries(kind) + OFFSET * (self.shape.n + 1)

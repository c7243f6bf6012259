"""The result of a run: one value per vertex and field, in the user's ids, and a record of the run."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cached_property
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from vlang.errors import BindError, plural
from vlang.runtime.engine.trace import ChaosReport, History, Round
from vlang.runtime.graph.edges.edge_list import VertexIds
from vlang.runtime.graph.edges.naming import none_of
from vlang.runtime.graph.graph import Graph
from vlang.runtime.results.columns import (
    as_bool,
    best_rows,
    described,
    missing_values,
    plain_values,
    proper_rows,
    shown_global,
    shown_values,
)
from vlang.runtime.results.edge_states import EdgeStates
from vlang.runtime.results.exported import Exported
from vlang.runtime.results.listing import Column, csv_blocks, json_blocks
from vlang.runtime.results.origin import Origin
from vlang.runtime.results.rounds import Rounds
from vlang.runtime.results.summary import summary_of, summary_text
from vlang.runtime.storage.output import fixed_width, write_arrays, write_text
from vlang.runtime.threads.moved import NOTHING, Moved
from vlang.times import UNITS

__all__ = ["Result"]


class Result(Exported):
    """The outputs of a program on a graph, and the record of the run.

    `r["rank"]` is the field or global of that name; `r.rank` is the same, unless an attribute below has that name.
    Fields are arrays of shape [vertices], or [vertices, k] for vectors T[k]; row i belongs to vertex `r.ids[i]`.
    Integers and floats keep the type of the program. Integer `inf` is the largest value of its type and `-inf` the
    least; `r.reached(name)` distinguishes both values from ordinary numbers. Fields of type `category` hold names, as
    objects; times are datetime64, with NaT for infinite times. Fields of type `vertex` hold the user's ids. The value
    `none` is stored as `r.none`: -1, or the least int64 if the graph has negative ids, or None in an object array if
    ids are strings.

    With device_arrays=True on a GPU, fields are CuPy arrays that own GPU memory. CuPy arrays support
    `__cuda_array_interface__` and DLPack, and `r["rank"]` copies nothing. Fields of type `vertex` are converted to the
    user's ids on first use; if ids are strings, such fields are in host memory, as `ids` is. Every other method copies
    a field to the host when it first needs it.

    Attributes:
        program: name of the program.
        rounds: the total number of rounds of all loops.
        converged: whether every loop ended by its own condition, and not at a limit of rounds.
        reason: why the first loop that did not converge ended; without such a loop, why the last loop ended.
        history: one `Round` per round of a loop.
        seconds: wall-clock time of the run in seconds, without checks and compilation.
        edges: the total number of edges traversed.
        graph_edges: the number of stored directed edges of the graph.
        edge_states: the values of the edge states of the program, an `EdgeStates`.
        types: name -> type of each field and global.
        globals: name -> value of each global.
        device: the device of the run, "cpu" or "gpu:0".
        device_reason: why this device was chosen.
        placement: for a graph from `Graph.open`, a sentence that says where the edges were during the run; else "".
        read_bytes: bytes of pages that the run read from disk.
        moved: the edges that the run moved, also outside of loops, as a named tuple: bytes_copied, bytes_in_place,
            bytes_from_disk, pages_cached, pages_copied, pages_packed, pages_in_place, pages_from_disk, bytes_between. A
            `Round` has the same counts for one round.
        chaos: with chaos=SEED, a `ChaosReport` of the randomised second run, else None.
        final: with target=VERTEX, bool[vertices]: whether the value of a vertex is final (at least as good as the value
            of the target); else None. Other values are intermediate: `top`, summaries and files omit them.
        warnings: sentences that say why the result may not be the intended one.
        origin: the run that computed the result; None if no run can resume from it.
        interrupted: with on_interrupt="write", whether an interrupt ended the run. After an interrupt, values are from
            the last superstep before it, and later statements have not run.
        policy: the option `policy` of the run.
        choices: the research options of the run that differ from their defaults, by the policy or the caller, by name.
        notes: sentences about requests that were not fulfilled: parts of a policy, loops that do not run in place.
        resumed: a sentence about the checkpoint from which the run continued; "" if the run started from the beginning.
        remembered: a sentence about earlier results of the graph that this run used, outside of `seconds`; else "".
        together: for a result of `Program.map`, a sentence that says that runs shared their reads of the edges, or why
            not. If the runs shared their reads, `seconds` is the time of all runs together. The text is "" for other
            results.
    """

    def __init__(
        self,
        program: str,
        ids: VertexIds,
        fields: Mapping[str, Any],
        types: Mapping[str, str],
        globals: Mapping[str, Any],
        rounds: int,
        converged: bool,
        reason: str,
        history: tuple[Round, ...] | History = (),
        seconds: float = 0.0,
        edges: int = 0,
        graph_edges: int = 0,
        smallest_first: Collection[str] = (),
        device: str = "cpu",
        device_reason: str = "as asked",
        origin: Origin | None = None,
        final: NDArray[np.bool_] | None = None,
        warnings: tuple[str, ...] = (),
        interrupted: bool = False,
        names: Sequence[str] = (),
        moved: Moved = NOTHING,
    ) -> None:
        """Create a result from the arrays of a run. Arguments that are not listed here are described as attributes.

        Args:
            ids: the user's ids of the vertices.
            fields: name -> array in the format of the engine: a field of type `vertex` is uint32 with dense numbers,
                and NONE for `none`. An array with a method `get()` is in device memory; `get()` copies it to the host.
            smallest_first: the fields, such as distances, whose smallest values come first in `top`.
            origin: the run; None if no run can resume from this result.
            names: the names of categories; `fields` has the index of a category in this sequence.
        """
        self.program = program
        self.rounds = rounds
        self.converged = converged
        self.reason = reason
        self._history = history
        self.seconds = seconds
        self.edges = edges
        self.graph_edges = graph_edges
        self.types = dict(types)
        self.device = device
        self.device_reason = device_reason
        self.placement = ""
        self.read_bytes = 0
        self.moved = moved
        self.chaos: ChaosReport | None = None
        self.origin = origin
        self.final = final
        self.warnings = warnings
        self.interrupted = interrupted
        self.edge_states = EdgeStates(ids, np.zeros(1, np.uint64), np.zeros(0, np.uint32), {})
        self._names = tuple(names)
        self.resumed = ""
        self.remembered = ""
        self.together = ""
        self.policy = "auto"
        self.choices: dict[str, Any] = {}
        self.notes: tuple[str, ...] = ()
        self._listed = None if final is None else np.flatnonzero(final)
        self._ids = ids
        self._fetched: dict[str, NDArray[Any]] = {}
        self._translated: dict[str, Any] = {}
        self._raw = {name: as_bool(a) if types.get(name) == "bool" else a for name, a in fields.items()}
        self._smallest_first = frozenset(smallest_first)
        self._shown: dict[str, NDArray[Any]] = {}
        self._globals = dict(globals)
        self.globals: dict[str, Any] = {name: shown_global(ids, self._names, value, types.get(name, ""))
                                        for name, value in globals.items()}

    def __getstate__(self) -> dict[str, Any]:
        """Pickle the values, but not the graph; no run can resume from the copy."""
        return {**self.__dict__, "origin": None}

    # ---- reading
    @property
    def graph(self) -> Graph | None:
        """The graph that the program ran on; None for a result that was read from a file or copied by pickle."""
        return None if self.origin is None else self.origin.graph

    @cached_property
    def history(self) -> Rounds:
        """One `Round` per superstep."""
        return Rounds(self._history.rounds() if isinstance(self._history, History) else self._history)

    @property
    def ids(self) -> NDArray[Any]:
        """The user's vertex ids in the order of all fields: int64, uint64 or object (str), increasing."""
        return self._ids.values

    @property
    def none(self) -> int | None:
        """The value that means "no vertex" in fields of type `vertex`."""
        return none_of(self._ids)

    @property
    def fields(self) -> tuple[str, ...]:
        """The names of the fields, in the order of the program."""
        return tuple(self._raw)

    @property
    def edges_per_second(self) -> float:
        """Edges traversed per second; 0 if no time was measured."""
        return self.edges / self.seconds if self.seconds > 0 else 0.0

    @property
    def _rows(self) -> int:
        """The number of vertices in `top` and in files: all vertices, or only the vertices with final values."""
        return len(self) if self._listed is None else len(self._listed)

    def __len__(self) -> int:
        return len(self._ids)

    def __getitem__(self, name: str) -> Any:
        if name in self._raw:
            return self._field(name)
        if name in self.globals:
            return self.globals[name]
        if name in self.edge_states:
            raise KeyError(f"`{name}` has a value for each edge: write result.edge_states[{name!r}]")
        raise KeyError(f"{self.program} has no output `{name}`; it has {', '.join([*self._raw, *self.globals])}")

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        try:
            return self[name]
        except KeyError as error:
            raise AttributeError(error.args[0]) from None

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *self._raw, *self.globals})

    def reached(self, name: str) -> NDArray[np.bool_]:
        """bool[vertices], whether the value of a field is neither `inf` nor `-inf` nor `none`.

        For a vector, no component may be `inf`, `-inf` or `none`.
        """
        self[name]  # raises KeyError for an unknown name
        return proper_rows(self._host(name), self.types.get(name, ""))

    def top(self, k: int = 10, by: str | None = None, largest: bool | None = None) -> list[dict[str, Any]]:
        """The first `k` rows in the order of field `by`, as dicts of Python values: `vertex`, then every field.

        Args:
            k: the maximum number of rows to return.
            by: the field; by default the first field that is not of type `vertex`. Vectors are ordered by their first
                component.
            largest: whether large values come first. The default is False for fields of type `vertex` and for fields
                that only decrease in the loops of the program, such as distances, else True.

        Returns:
            The rows. Ties are in the order of the vertices; NaN comes last. Integer `inf` becomes the float inf, `none`
            becomes None.

        Raises:
            KeyError: there is no such field.
        """
        if isinstance(k, bool) or not isinstance(k, (int, np.integer)):
            raise BindError(f"k is a whole number of rows, not {k!r}")
        if k <= 0 or not self._rows:
            return []
        name = by if by is not None else next((f for f in self._raw if self.types.get(f) != "vertex"), None)
        if name is not None:
            self[name]
        elif self._raw:
            name = next(iter(self._raw))
        rows = np.arange(min(k, len(self))) if name is None else self._order(name, largest, min(k, self._rows))
        vertices = [self._ids.label(i) for i in rows.tolist()]
        columns = {f: self._plain(f, rows) for f in self._raw}
        return [{"vertex": vertices[i], **{f: c[i] for f, c in columns.items()}} for i in range(len(rows))]

    def row(self, vertex: int | str) -> dict[str, Any]:
        """The row of one vertex in the form of `top`: `vertex`, then every field.

        Raises GraphError for an unknown id.
        """
        at = self._ids.find(vertex)
        return {"vertex": self._ids.label(at), **{f: self._plain(f, np.array([at]))[0] for f in self._raw}}

    # ---- writing
    def to_csv(self, file: str | os.PathLike[str] | IO[Any], separator: str = ",") -> None:
        """Write a header line, then one row per vertex: `vertex`, then every field.

        The cell of a value `inf`, `-inf` or `none` is empty. Bools are written as true and false, floats in the
        shortest form that reads back as the same value. A vector x has the columns x.0, x.1, ... If `file` is a path,
        it is written atomically. Raises DiskError if the file cannot be written, and BindError for another separator.

        Args:
            separator: a comma or a tab.
        """
        if separator not in (",", "\t"):
            raise BindError(f"separator={separator!r}: write ',' or '\\t'")
        widths = {name: raw.shape[1] if raw.ndim > 1 else 0 for name, raw in self._raw.items()}
        write_text(file, csv_blocks(widths, self._rows, self._columns, separator))

    def to_json(self, file: str | os.PathLike[str] | IO[Any]) -> None:
        """Write one object: the entries of `summary_dict()`, then `vertex` and `fields` as lists.

        The values `inf`, `-inf`, `none` and NaN become null; a vector becomes a list of its components. If `file` is a
        path, it is written atomically. Raises DiskError.
        """
        write_text(file, json_blocks(self.summary_dict(), list(self._raw), self._rows, self._columns))

    def to_npz(self, file: str | os.PathLike[str] | IO[bytes]) -> None:
        """Write a NumPy archive with the arrays `vertex` (ids), every field and every global, with the types that they
        have in memory.

        Columns of strings have a fixed width, and `none` is "". If `file` is a path, it is written atomically. Raises
        DiskError.
        """
        columns = {"vertex": self._ids.plain, **{name: self._on_host(name) for name in self._raw}}
        if self._listed is not None:
            columns = {name: np.asarray(column)[self._listed] for name, column in columns.items()}
        arrays = {**columns, **self.globals}
        plain = {name: fixed_width(a) for name, a in arrays.items()}
        write_arrays(file, plain)

    def summary_dict(self) -> dict[str, Any]:
        """A description of the run without the values of fields, in types that JSON supports."""
        return summary_of(self)

    def summary(self) -> str:
        """Return a few lines of text: the reason why the run ended, and the range of each field."""
        return summary_text(self, map(self._describe, self._raw))

    def __repr__(self) -> str:
        state = "converged" if self.converged else "stopped"
        outputs = ", ".join([*self._raw, *self.globals])
        return f"<Result of {self.program}: {plural(len(self), 'vertex', 'vertices')}, " \
               f"{plural(self.rounds, 'round')}, {state}; {outputs}>"  # fmt: skip

    # ---- fields
    def _field(self, name: str) -> Any:
        raw = self._raw[name]
        if not self._renamed(name):
            return raw
        shown = self._on_host(name)
        if isinstance(raw, np.ndarray) or shown.dtype.kind in "OM":
            return shown
        if name not in self._translated:
            import cupy  # optional

            with raw.device:
                self._translated[name] = cupy.asarray(shown)
        return self._translated[name]

    def _on_host(self, name: str) -> NDArray[Any]:
        """A field in host memory, with vertices as the user's ids, categories as names, and times as datetime64."""
        if not self._renamed(name):
            return self._host(name)
        if name not in self._shown:
            self._shown[name] = shown_values(self._ids, self._names, self._host(name), self.types[name])
        return self._shown[name]

    def _renamed(self, name: str) -> bool:
        """Return whether users see other values of a field than the engine."""
        return self.types.get(name) in ("vertex", "category", *UNITS)

    def stored(self, name: str) -> NDArray[Any]:
        """A field as the engine stores it: an array of n values, or of n * k values for vectors with k components.
        Bools are stored as uint8, f16 as uint16, and vertices as dense numbers.
        """
        array = np.ascontiguousarray(self._host(name)).reshape(-1)
        if array.dtype == np.bool_ or array.dtype == np.float16:
            return array.view(np.uint8 if array.itemsize == 1 else np.uint16)
        return array

    def _host(self, name: str) -> NDArray[Any]:
        """A field in the format of the engine, in host memory. A device array is copied on first use."""
        array = self._raw[name]
        if isinstance(array, np.ndarray):
            return array
        if name not in self._fetched:
            self._fetched[name] = array.get()
        return self._fetched[name]

    def _plain(self, name: str, rows: NDArray[Any]) -> list[Any]:
        """The values of some rows as Python objects, with infinities as floats and `none` as None."""
        return plain_values(self._ids, self._names, self._host(name)[rows], self.types.get(name, ""))

    def _order(self, name: str, largest: bool | None, k: int) -> NDArray[Any]:
        """The indices of the k best rows, best first. Ties are in the order of rows."""
        raw = self._host(name) if self._listed is None else self._host(name)[self._listed]
        if largest is None:
            falls = name in self._smallest_first or self.types.get(name) == "vertex"
            largest = not falls or raw.dtype == np.bool_
        first = best_rows(raw[:, 0] if raw.ndim > 1 else raw, largest, k)
        return first if self._listed is None else self._listed[first]

    def _describe(self, name: str) -> str:
        """Describe a field in one line."""
        raw = self._host(name)
        return described(raw if self._listed is None else raw[self._listed], self.types.get(name, ""), self._names)

    def _columns(self, start: int, stop: int) -> Iterator[Column]:
        """Yield the columns of a file for the rows start..stop-1, ids first."""
        rows = slice(start, stop) if self._listed is None else self._listed[start:stop]
        if self._ids.consecutive and self._listed is None:  # creates the ids of this block only
            ids = VertexIds(base=self._ids.base + start, count=stop - start).values
        else:
            ids = self._ids[rows]
        yield Column("vertex", ids, None)
        for name in self._raw:
            raw, type_ = self._host(name)[rows], self.types.get(name, "")
            yield Column(name, shown_values(self._ids, self._names, raw, type_), missing_values(raw, type_))

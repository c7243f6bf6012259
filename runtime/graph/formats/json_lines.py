"""The format of JSON lines (.jsonl): one object for each edge. The library pyarrow parses the text, window by window.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from io import BytesIO
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from vlang.errors import GraphError
from vlang.runtime.graph.arrow.library import pyarrow
from vlang.runtime.graph.arrow.tables import check_names
from vlang.runtime.graph.edges.shape import Shape
from vlang.runtime.graph.formats.format import Beginning, ListFormat
from vlang.runtime.graph.formats.tables import refuse_taken

if TYPE_CHECKING:
    from vlang.runtime.graph.edges.building.space import Space
    from vlang.runtime.graph.edges.edge_list import EdgeList
    from vlang.runtime.graph.edges.ends import Ends
    from vlang.runtime.graph.edges.pool import Workers
    from vlang.runtime.graph.graph import Graph
    from vlang.runtime.graph.read.asked import Asked

__all__ = ["JSON_LINES"]

_ROW = re.compile(r"in row (\d+)")
_WINDOW = 1 << 22
_TEXT_ID = 72  # approximate bytes of an id that is a string


class _JsonLines(ListFormat):
    name = "JSON lines"
    typed = True
    suffixes = (".jsonl", ".ndjson")

    def recognises(self, beginning: Beginning) -> bool:
        """Return whether the first line is a JSON object, or begins like a JSON object and is too long to be checked.
        """
        first, end, _ = beginning.text.removeprefix(b"\xef\xbb\xbf").lstrip().partition(b"\n")
        if not first.startswith(b"{"):
            return False
        if not end and len(first) > 1 << 11:
            return True
        try:
            return isinstance(json.loads(first), dict)
        except ValueError:
            return False

    def edges(self, path: Path, asked: Asked, workers: Workers, space: Space) -> EdgeList:
        from vlang.runtime.graph.formats.table_edges import read_table  # start-up

        return read_table(_JsonTable(path, asked.ends, space.window_for(1)), asked, workers, space)

    def estimate(self, path: Path, asked: Asked, threads: int) -> Shape | None:
        """An estimate of the shape of the graph from the length of the first lines. The estimate is None for several
        files or a compressed file.
        """
        beginning = Beginning(path)
        lines = beginning.bytes.split(b"\n")[:-1]
        if not lines or beginning.text is not beginning.bytes:
            return None
        edges = max(1, beginning.size * len(lines) // sum(len(line) + 1 for line in lines))
        found = json.loads(lines[0])
        text = any(isinstance(value, str) for value in list(found.values())[:2])
        columns = {name: np.dtype(np.float64) for name, value in found.items()
                   if isinstance(value, (int, float)) and (asked.columns is None or name in asked.columns)}
        directed = asked.directed is not False
        return Shape(2 * edges, edges if directed else 2 * edges, directed, columns, listed=edges,
                     ids=_TEXT_ID * 2 * edges if text else 0, reading=8 * _WINDOW, exact=False)

    def write(self, graph: Graph, file: IO[bytes], path: str, suffix: str) -> list[str]:
        """See `GraphFormat.write`. Raises GraphError for infinite values, and for a column `source` or `target`."""
        from vlang.runtime.graph.edges.edge_rows import (  # start-up
            blocks,
            column_values,
            listed_edges,
            lost,
            refuse_infinite,
        )
        from vlang.runtime.storage.output import json_texts  # start-up

        edges = listed_edges(graph)
        refuse_taken(path, edges.columns)
        refuse_infinite(path, edges, list(edges.columns))
        members = [f'"{end}": %s' for end in ("source", "target")] + [
            f"{json.dumps(name, ensure_ascii=False).replace('%', '%%')}: %s" for name in edges.columns]
        line = "{" + ", ".join(members) + "}"
        for part in blocks(len(edges.src)):
            values = [edges.ids.values[end[part]] for end in (edges.src, edges.dst)]
            values += [column_values(edges, name, part) for name in edges.columns]
            cells = zip(*(json_texts(one, None) for one in values))
            file.write(("\n".join(line % row for row in cells) + "\n").encode())
        return lost(graph, vertices=True, direction=True, typed=True)


class _JsonTable:
    """The objects as rows of a table; see `ArrowTable`. The text is parsed once for the types, once for the values."""

    format = "JSON lines"

    def __init__(self, path: Path, ends: Ends, window: int) -> None:
        """Find the columns and their types. Raises GraphError for a wrong line, DiskError."""
        from vlang.runtime.graph.read.end_columns import choose_ends  # start-up
        from vlang.runtime.graph.read.part_files import opened_text  # start-up

        self._pa = pyarrow(f"{path}, a file of JSON lines,")
        import pyarrow.json as pyarrow_json  # optional

        self._json = pyarrow_json
        self.name, self._file, self._window = str(path), opened_text(path), min(_WINDOW, window)
        self.notes = self._file.notes
        self.rows = 0
        self.schema: Any = self._pa.schema([])
        for table in self._parsed(None):
            self.rows += table.num_rows
        check_names(self.name, self.schema)
        if "nodes" in self.schema.names and {"links", "edges"} & set(self.schema.names):
            raise GraphError(f"{path}: this looks like node-link data of NetworkX, one object for a whole graph\n  "
                             "expected: one object for each edge; in Python, "
                             "vlang.Graph.from_networkx(networkx.node_link_graph(json.load(file)))")  # fmt: skip
        if len(self.schema.names) < 2:
            raise GraphError(f"{path}: an object has {len(self.schema.names)} members, and an edge has two ends")
        chosen = choose_ends(path, list(self.schema.names), None, len(self.schema.names), ends)
        for end in (chosen.source, chosen.target):  # a text that looks like a time is an id
            field = self.schema.field(end)
            if self._pa.types.is_timestamp(field.type):
                self.schema = self.schema.set(end, field.with_type(self._pa.string()))

    def batches(self, columns: Sequence[str]) -> Iterator[Any]:
        """See `ArrowTable.batches`."""
        for table in self._parsed(self._pa.schema([self.schema.field(name) for name in columns])):
            yield from table.select(list(columns)).to_batches()

    def _parsed(self, schema: Any) -> Iterator[Any]:
        """Parse the text in windows, and yield tables with the columns of `schema`.

        If `schema` is None, the types of the columns are derived from the text and stored in `self.schema`.
        """
        line, path = 1, self._file.path
        for window in self._file.windows(self._window):
            if window.part is not None:
                line, path = 1, window.part
            text = window.text[: window.size].tobytes()
            if window.damage is not None:
                raise GraphError(f"{path}: {window.damage}")
            if text.strip():
                yield self._table(text.removeprefix(b"\xef\xbb\xbf"), schema, line, path)
            line += text.count(b"\n")

    def _table(self, text: bytes, schema: Any, line: int, path: Path) -> Any:
        """Parse whole lines, of which the first has the number `line`."""
        read = self._json.ReadOptions(use_threads=False, block_size=len(text) + 1)
        parse = self._json.ParseOptions(explicit_schema=schema, unexpected_field_behavior="infer" if schema is None
                                        else "ignore")  # fmt: skip
        try:
            table = self._json.read_json(BytesIO(text), read_options=read, parse_options=parse)
            if schema is None:
                self.schema = self._pa.unify_schemas([self.schema, table.schema], promote_options="permissive")
        except self._pa.ArrowException as error:
            raise self._wrong(text, line, path, error) from None
        return table

    def _wrong(self, text: bytes, line: int, path: Path, error: Exception) -> GraphError:
        """The error for the first line that is not an object, or that has values of the wrong types."""
        from vlang.runtime.graph.read.text_errors import problem  # start-up

        what = str(error).splitlines()[0].removeprefix("JSON parse error: ")
        lines = text.split(b"\n")
        for at, one in enumerate(lines):
            try:
                if one.strip() and not isinstance(json.loads(one), dict):
                    raise ValueError("this is no object")
            except ValueError as wrong:
                return problem(path, f"this line is no JSON object: {str(wrong).partition(':')[0]}", line=line + at,
                               found=one.decode("utf-8", "replace"),
                               expected='an object, such as {"source": 1, "target": 2}')
        found, full = _ROW.search(what), [at for at, one in enumerate(lines) if one.strip()]
        at = full[min(int(found[1]), len(full) - 1)] if found else 0
        return problem(path, what.partition(" in row")[0], line=line + at, found=lines[at].decode("utf-8", "replace"),
                       expected="the same types in all lines")


JSON_LINES = _JsonLines()

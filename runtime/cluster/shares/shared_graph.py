"""Reads a file or a generator by shares: every rank reads a part, and all ranks agree on the numbers of vertices."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vlang.errors import VlangError, plural
from vlang.records import dataclass
from vlang.runtime.cluster.shared_edges import Listed, SharedEdges
from vlang.runtime.cluster.shares.merged_ids import merged_ids
from vlang.runtime.cluster.transports.transport import Transport, summed, texts
from vlang.runtime.convert.source import Reading
from vlang.runtime.graph.edges.columns import Column, describe, narrowed_dtype
from vlang.runtime.graph.edges.ends import Ends, parse_column
from vlang.runtime.graph.edges.given import named_types
from vlang.runtime.graph.edges.pool import Workers
from vlang.runtime.graph.edges.share import SavedShare, Share
from vlang.runtime.graph.formats.archive import Checked, fits
from vlang.runtime.graph.formats.format import ListFormat, StoredFormat
from vlang.runtime.graph.formats.table import recognised
from vlang.runtime.graph.generators import generate, is_spec
from vlang.runtime.graph.graph import Graph
from vlang.runtime.graph.notes import KEPT, rule_note, symmetrized_note
from vlang.runtime.graph.read.asked import Asked
from vlang.runtime.graph.read.direction import imbalance
from vlang.runtime.graph.read.finish import column_notes
from vlang.runtime.graph.read.scan import Scanned
from vlang.runtime.graph.sources import check_source_options, without_rule
from vlang.runtime.graph.topology.transform import WeightRule
from vlang.runtime.threads.processors import available_threads

__all__ = ["shared_graph"]

_COMMON = 4  # notes of a reader before those that do not depend on the share: format, direction, counts, columns

@dataclass(frozen=True)
class _Part:
    """What a rank has read, with its own vertex numbers, and the rule of weights."""

    share: Share
    rule: tuple[int, int] | None

    def common(self) -> list[Any]:
        """Return the values that must be equal on all ranks. If the ranks have different values, one process reads the
        whole file and reports what is wrong.
        """
        edges = self.share.edges
        odd = bool(edges.warnings or edges.kinds)
        return [odd, edges.ids.text, list(edges.columns), sorted(edges.left_out), self.share.directed, edges.notes[:1],
                edges.notes[_COMMON:]]


def shared_graph(transport: Transport, spec: str, reading: Reading, threads: int | None) -> Graph | str:
    """Return the graph of a file or generator, of which this rank reads a part, or the reason why one rank must read
    the whole file.

    All ranks call this together. The vertices, the edges and their order are the same as in a graph from `Graph.read`.
    If something in a file is wrong or unusual, one process reads the whole file, so that messages can name lines of the
    file.

    Args:
        transport: the transport of the rank.
        spec: the file or generator.
        reading: the options of reading.
        threads: how many threads to use; None for one per processor.
    """
    part, why = _read(transport, spec, reading, threads or available_threads())
    about = texts(transport, json.dumps(None if part is None else part.common()), f"the shares of {spec}")
    if part is None or any(text != about[0] for text in about) or part.common()[0]:
        reasons = texts(transport, why, "why a file is read as a whole")
        return next(filter(None, reasons), "its parts differ in what they hold")
    return _joined(transport, spec, reading, part, threads)


def _read(transport: Transport, spec: str, reading: Reading, threads: int) -> tuple[_Part | None, str]:
    """Return the part of this rank. If the source has no parts or the part cannot be read alone, return None and the
    reason.
    """
    if (reading.self_loops, reading.parallel, reading.missing, reading.vertices) != ("keep", "keep", "error", None):
        return None, "options that drop or fill something look at the whole of it"
    if spec == "-":
        return None, "standard input is read once"
    path, place = Path(spec), (transport.rank, transport.size)
    ends = Ends(parse_column("source_column", reading.source_column),
                parse_column("target_column", reading.target_column), None)
    try:
        rule = check_source_options(path, reading.weights, reading.missing, ends)
        if is_spec(spec) and not path.exists():
            edges, limits = generate(spec, directed=reading.directed, threads=threads, part=place)
            return _Part(Share(edges, edges.directed, ""), rule or limits), ""
        found = recognised(path)
        if not isinstance(found, ListFormat):
            assert isinstance(found, StoredFormat)
            saved = found.share(path, None if rule else reading.weights, *place)
            if saved is None:
                return None, "this file has no parts that are read alone"
            if reading.directed not in (None, saved.directed) or (reading.symmetrize and saved.directed):
                return None, "its direction is changed"
            return _Part(saved, rule), ""
        columns = without_rule(found, reading.columns) if rule else reading.columns
        asked = Asked(None, None if rule else reading.weights, None if columns is None else frozenset(columns),
                      ends=ends, types=named_types(columns))
        with Workers(threads) as workers:
            share = found.share(path, asked, workers, *place)
    except VlangError:
        return None, "a part of it cannot be read alone"
    if share is None:
        return None, "it is one compressed file, or has fewer parts than there are ranks"
    return _Part(share, rule), ""


def _joined(transport: Transport, spec: str, reading: Reading, part: _Part, threads: int | None) -> Graph | str:
    """Return the graph of all parts. If the counts of all parts show a reason why one rank must read the whole file,
    return the reason.
    """
    share, edges = part.share, part.share.edges
    rows = summed(transport, [len(edges.src)], "the edges of all shares")[0]
    saved = isinstance(share, SavedShare)
    if isinstance(share, SavedShare) and not _intact(transport, share):
        return "its checksums do not fit"
    found = (edges.ids, None) if saved else merged_ids(transport, edges.ids)
    if found is None:
        return "its ids fit no type together"
    ids, places = found
    src, dst = (ends if places is None else places[ends] for ends in (edges.src, edges.dst))
    if rows in share.doubtful or share.declared not in (None, (len(ids), rows)):
        return "it may not be what it seems to be"
    columns, dtypes = _widened(transport, edges.columns)
    read = Scanned(src, dst, ids, columns)
    generated = not share.why
    notes = list(edges.notes) if generated else [edges.notes[0]]
    directed = share.directed if reading.directed is None or generated else reading.directed
    if not generated:
        why = share.why if directed == share.directed else "as asked for"
        directed, read, detail = (True, read, "") if directed else _undirected(transport, read)
        kept = summed(transport, [len(read.source)], "the edges that are kept")[0]
        named = replace(read, columns={name: np.empty(0, dtype) for name, dtype in dtypes.items()})
        notes += [f"{'Directed' if directed and not detail else 'Undirected'}, {why}{detail}.",
                  f"{plural(len(ids), 'vertex', 'vertices')}, {plural(kept, 'edge')}"
                  f"{f' of {rows:,} listed' if kept != rows else ''}.",
                  *column_notes(named, edges.left_out, rows, Asked()), *edges.notes[_COMMON:]]
        rows = kept
    if reading.symmetrize and directed:
        notes.append(symmetrized_note(rows))
        directed = False
    return _stored(transport, spec, read, directed, part, notes, threads)


def _intact(transport: Transport, share: SavedShare) -> bool:
    """Return whether the shares of all ranks have the checksums that the file lists."""
    mine = json.dumps([[one.sum, one.length, one.whole] for one in share.checks])
    every = [json.loads(text) for text in texts(transport, mine, "the checksums of shares")]
    return all(fits([Checked(*one) for one in parts]) for parts in zip(*every))


def _stored(
    transport: Transport, spec: str, read: Scanned, directed: bool, part: _Part, notes: list[str], threads: int | None
) -> Graph:
    """Return the graph of the edges that all ranks have kept.

    Args:
        transport: the transport of the rank.
        spec: the file or generator.
        read: the kept edges of this rank.
        directed: whether the edges are directed.
        part: what this rank has read.
        notes: the notes of the graph.
        threads: how many threads to use; None for one per processor.
    """
    saved = part.share if isinstance(part.share, SavedShare) else None
    rule = part.rule or (None if saved is None else saved.rule)
    values = dict(read.columns)
    columns = {name: _described(transport, column) for name, column in values.items()}
    left_out = dict(part.share.edges.left_out)
    if rule is not None:
        by = WeightRule(*rule)
        values["weight"], columns["weight"] = by.of_ends(read.source, read.target, directed), by.column
        left_out.pop("weight", None)
    notes += [] if rule is None or (saved and part.rule is None) else [rule_note(*rule, directed)]
    mirror = not directed and saved is None
    listed = Listed(np.ascontiguousarray(read.source), np.ascontiguousarray(read.target), values, mirror)
    name = Path(spec).name
    stored: Any = SharedEdges(name, len(read.ids), directed, listed, columns, transport)
    graph = Graph.on_pages(stored, read.ids, notes, left_out, threads)
    graph._kept = KEPT if saved is None else ()
    return graph


def _undirected(transport: Transport, read: Scanned) -> tuple[bool, Scanned, str]:
    """Return whether the edges are directed, the edges to keep, and a clause for the notes (see `as_undirected`)."""
    pairs, values = imbalance(read)
    links = int((read.source != read.target).sum())
    halves = [pairs & 0xFFFFFFFF, pairs >> 32, values & 0xFFFFFFFF, values >> 32, links]
    low, high, low_too, high_too, links = summed(transport, halves, "edges in both directions")
    if (low + (high << 32)) % (1 << 64) != 0 or not links:
        return False, read, "; each edge is taken to be listed once"
    if (low_too + (high_too << 32)) % (1 << 64) != 0:
        return True, read, "; both directions of every edge are listed, with different values: kept as directed"
    keep = read.source <= read.target
    kept = replace(read, source=read.source[keep], target=read.target[keep],
                   columns={name: values[keep] for name, values in read.columns.items()})
    return False, kept, "; both directions of every edge are listed, and one of each is kept"


def _widened(
    transport: Transport, columns: Mapping[str, NDArray[Any]]
) -> tuple[dict[str, NDArray[Any]], dict[str, np.dtype[Any]]]:
    """Return the columns in the narrowest dtypes that hold the values of all ranks, and the dtypes that one reader of
    the whole file would give them.
    """
    mine = {name: (narrowed_dtype(name, values.dtype, [values] if len(values) else []).str, values.dtype.str)
            for name, values in columns.items()}
    every = [json.loads(text) for text in texts(transport, json.dumps(mine), "the types of columns")]
    narrow, wide = ({name: np.result_type(*(one[name][i] for one in every)) for name in columns} for i in (0, 1))
    return {name: values.astype(narrow[name], copy=False) for name, values in columns.items()}, wide


def _described(transport: Transport, values: NDArray[Any]) -> Column:
    """Return the dtype and range of a column of all ranks."""
    mine = describe(values)
    ends = [mine.low, mine.high] if len(values) else []
    every = [json.loads(text) for text in texts(transport, json.dumps([float(e) if values.dtype.kind == "f" else int(e)
                                                                       for e in ends]), "the ranges of columns")]
    lows, highs = [one[0] for one in every if one], [one[1] for one in every if one]
    if not lows:
        return mine
    if any(low != low for low in lows):
        return Column(mine.dtype, float("nan"), float("nan"))
    return Column(mine.dtype, min(lows), max(highs))

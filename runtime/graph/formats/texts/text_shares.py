"""Reads one of several equal parts of a text edge list."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from vlang.runtime.graph.edges.pool import Workers
from vlang.runtime.graph.edges.share import Share
from vlang.runtime.graph.formats.texts.edge_text import (
    declared_counts,
    declared_direction,
    doubtful_rows,
    read_edge_text,
)
from vlang.runtime.graph.read.asked import Asked
from vlang.runtime.graph.read.head import Format, read_head
from vlang.runtime.graph.read.source import TextFile
from vlang.runtime.graph.read.text_share import FileShare, PartsShare
from vlang.runtime.storage.inputs.spool import parts_of

__all__ = ["read_text_share"]

_TABLES = ".v"  # a list of vertices (LDBC)


def read_text_share(path: Path, asked: Asked, workers: Workers, place: int, parts: int) -> Share | None:
    """Some of the edges of a text; None for a text that is small, no edge list, or one compressed file.

    Args:
        path, asked, workers, place, parts: see `ListFormat.share`.

    Raises the errors of `read_edge_text`.
    """
    files = [file for file in parts_of(path) if file.stat().st_size]
    file: TextFile = PartsShare(path, files, place, parts) if files else FileShare(path, place, parts)
    head = read_head(file)
    plain = head.format == Format.EDGE_TEXT and head.data and path.suffix != _TABLES
    if not plain or (file.packing and not files) or asked.ends.vertices is not None or file.ends_in_returns:
        return None
    if len(files) < parts if files else head.data[0].start >= file.size // parts:
        return None
    edges = read_edge_text(file, head, replace(asked, directed=True), workers)
    declared, why = declared_direction(head)
    counts = declared_counts(head)
    return Share(edges, declared is not False, why, doubtful_rows(file, head, asked.ends),
                 None if counts is None else counts[:2])

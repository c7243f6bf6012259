"""Warnings about given vertex fields and edge fields with values that the user may not expect."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from vlang.ir.forms import forms as f
from vlang.syntax.tree import EdgeField
from vlang.types import Scalar, Vector, VertexSet

if TYPE_CHECKING:
    from vlang.api.calls import Call, Stages
    from vlang.runtime.graph.graph import Graph

__all__ = ["input_notes"]


def input_notes(stages: Stages, call: Call, source: str) -> tuple[str, ...]:
    """Warnings about the inputs of a call.

    Warnings report a vertex field that is NaN at some vertex, a list that repeats a vertex, and an edge field with a
    NaN or an infinity. Other warnings report an edge field that takes its default although the graph has unused
    columns, and a vertex field with a first value although the table of vertices has a column of its name.

    Args:
        source: the text of the program.
    """
    program, graph = stages.program, call.graph
    fields = (*_fields_with_nan(program, graph, call.fields), *_repeated(program, graph, call.scalars),
              *_unjoined(program, graph, call.fields))
    if not program.edges:
        return fields
    edges = [item for item in stages.checked.file.items if isinstance(item, EdgeField)]
    defaults = {name: source[item.init.span.start : item.init.span.end]
                for item in edges if item.init is not None for name in item.names}
    return (*fields, *_hidden_columns(program, graph, defaults), *_columns_with_nan(program, graph),
            *_infinite_columns(program, graph))


def _fields_with_nan(program: f.Program, graph: Graph, given: Mapping[str, Any]) -> Iterator[str]:
    """A warning for each vertex field of a call that is NaN at some vertex."""
    for decl in program.fields:
        item = decl.type.item if isinstance(decl.type, Vector) else decl.type
        if decl.name in given and isinstance(item, Scalar) and item.floating:
            values = given[decl.name] if item.bits > 16 else given[decl.name].view(np.float16)
            if len(values) and math.isnan(values.min()):  # the minimum of values with a NaN is NaN
                vertex = graph.label(int(np.isnan(values).argmax()) * graph.n // len(values))
                yield (f"vertex field `{decl.name}` is NaN at vertex {vertex}; results that depend on such values are "
                       "NaN or skip them")


def _unjoined(program: f.Program, graph: Graph, given: Mapping[str, Any]) -> Iterator[str]:
    """A warning for each vertex field that begins with the value in the program, although the table of vertices has a
    column of its name.
    """
    table = graph.vertex_columns
    for decl in program.fields:
        if table is not None and not decl.required and decl.name not in given and decl.name in table.names:
            yield (f"vertex field `{decl.name}` begins with the value in the program, and not with the column of "
                   f"{table.source}; --field {decl.name}={table.source}:{decl.name} ({decl.name}=...) gives it the "
                   "column")


def _repeated(program: f.Program, graph: Graph, given: Mapping[str, Any]) -> Iterator[str]:
    """A warning for each list of vertices in which a vertex is repeated."""
    for param in program.params:
        members = given.get(param.name) if isinstance(param.type, VertexSet) else None
        if members is not None and len(members) > 1:
            ordered = np.sort(members)
            again = ordered[1:][ordered[1:] == ordered[:-1]]
            if len(again):
                yield (f"the list `{param.name}` has vertex {graph.label(int(again[0]))} more than once; "
                       f"`len({param.name})` is {len(members):,}, and its vertices are "
                       f"{len(members) - len(again):,}")


def _infinite_columns(program: f.Program, graph: Graph) -> Iterator[str]:
    """Return a warning for each edge field of signed integers that contains the number for `inf` or `-inf` of its type.
    """
    for edge in program.edges:
        if edge.type.kind == "int" and edge.name in graph.columns:
            low, high = graph.column_range(edge.name)
            ends = [(edge.type.highest, "inf")] * (high == edge.type.highest) + \
                [(edge.type.lowest, "-inf")] * (low == edge.type.lowest)
            for number, name in ends:
                yield (f"edge field `{edge.name}` holds {number} on some edges, which is `{name}` in {edge.type}; "
                       "declare a wider type if it is a number")


def _columns_with_nan(program: f.Program, graph: Graph) -> tuple[str, ...]:
    """A warning for each edge field that is NaN on some edges."""
    read = [edge.name for edge in program.edges if edge.name in graph.columns]
    return tuple(f"edge field `{name}` is NaN on some edges; results that depend on these are NaN or skip them"
                 for name in read if math.isnan(graph.column_range(name)[0]))


def _hidden_columns(program: f.Program, graph: Graph, defaults: Mapping[str, str]) -> tuple[str, ...]:
    """A warning for each edge field that takes its default although the graph has unused columns.

    Args:
        defaults: the program text of each default, by edge field.
    """
    read = {edge.name for edge in program.edges}
    others = [name for name in graph.columns if name not in read and name not in graph.kinds]
    others += [name for name, why in graph.left_out.items() if why.numbers and name not in read]
    if not others:
        return ()
    there = ", ".join(f"`{name}`" for name in others)
    found = []
    for edge in program.edges:
        if edge.name not in graph.columns and edge.name in defaults:
            advice = f"name the column `{edge.name}` to have it read"
            if edge.name == "weight":
                which = "it" if len(others) == 1 else "one of them"
                advice = f"read {which} with weights=\"{others[0]}\", or name it `weight`"
            found.append(f"edge field `{edge.name}`: default {defaults[edge.name]}; the graph has {there}: {advice}")
    return tuple(found)

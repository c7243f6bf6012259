"""Converts command-line arguments to values."""

from __future__ import annotations

import math
import os
import shlex
from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from vlang.cli.show import note
from vlang.errors import DiskError, GraphError
from vlang.times import UNITS

if TYPE_CHECKING:
    from vlang.api.described import Parameter
    from vlang.api.program import Program
    from vlang.runtime.graph.graph import Graph

__all__ = [
    "bindings", "field_values", "parameter_values", "unknown", "unused_columns", "vertex_of", "with_constants",
]


def bindings(program: Program, words: Sequence[str], example: str) -> dict[str, str]:
    """Return the texts of words of the form `name=value`, by name. The names are checked against the parameters of the
    program.

    Raises click.UsageError for a word without `=`, for an unknown or repeated name, and for a missing parameter.

    Args:
        example: the command so far, for messages.
    """
    known = {p.name: p for p in program.params}
    given: dict[str, str] = {}
    for word in words:
        name, equals, value = word.partition("=")
        if not equals:
            raise click.UsageError(f"`{word}` is not a parameter; write name=value{_choice(known)}")
        if name not in known:
            raise click.UsageError(unknown(name, known, program.name))
        if name in given:
            raise click.UsageError(f"`{name}` is given twice")
        given[name] = value
    missing = [p for p in program.params if p.required and p.name not in given]
    if missing:
        needs = " and ".join(f"`{p.name}` ({p.type})" for p in missing)
        all_ = shlex.join([*words, *(f"{p.name}={_sample(p)}" for p in missing)])
        raise click.UsageError(f"{program.name} needs {needs}; write for example\n\n    {example} {all_}")
    return given


def with_constants(program: Program, given: dict[str, str]) -> tuple[Program, dict[str, str]]:
    """Return the program compiled for the values of its constants, and the texts of the other parameters.

    Raises click.UsageError for a text that is no integer, and BindError for an integer that a constant cannot have.
    """
    constants = {p.name for p in program.params if p.type == "const"} & set(given)
    values = {name: _plain(name, "int", given[name].strip()) for name in constants}
    return program.with_constants(**values), {name: text for name, text in given.items() if name not in constants}


def unknown(name: str, known: Iterable[str], program: str) -> str:
    """The message for a name that is not a parameter."""
    names = sorted(known)
    close = get_close_matches(name, names, n=1)
    if close:
        return f"{program} has no parameter `{name}`; did you mean `{close[0]}`?"
    if not names:
        return f"{program} has no parameter `{name}`; it takes none"
    return f"{program} has no parameter `{name}`; it has {', '.join(names)}"


def parameter_values(program: Program, given: dict[str, str], graph: Graph) -> dict[str, Any]:
    """Convert texts to values of the parameters' types. A vertex becomes its id in the graph.

    Raises click.UsageError for a text that is not a value of the type, and GraphError for a vertex not in the graph.
    """
    types = {p.name: p.type for p in program.params}
    return {name: _value(name, types[name], text, graph) for name, text in given.items()}


def _value(name: str, type_: str, text: str, graph: Graph) -> Any:
    if type_ == "vertex":
        _a_single_vertex(name, text, graph)
        return vertex_of(name, text, graph)
    if type_ == "vertices" and text.startswith("@") and (os.path.exists(text[1:]) or text == "@-"):
        return _listed(name, text[1:], graph)
    if type_ == "vertices" and text.startswith("@") and "," not in text and not (graph.ids.text and text in graph.ids):
        raise click.UsageError(f"`{name}`: there is no file {text[1:]}, which {name}={text} names"
                               + (f", and no vertex {text}" if graph.ids.text else ""))
    if type_ == "vertices" and _describes(text.strip(), graph):
        return text.strip()
    if type_ == "vertices":
        _without_brackets(name, text, graph)
        return [vertex_of(name, part.strip(), graph) for part in text.split(",") if part.strip()]
    return _vector(name, type_, text.strip()) if "[" in type_ else _plain(name, type_, text)


def _without_brackets(name: str, text: str, graph: Graph | None = None) -> None:
    """Raise click.UsageError for a list in brackets, as in Python. `graph` is the graph of the run if the parameter is
    a list of vertices.
    """
    inner = text.strip()
    if inner[:1] in ("[", "(", "{") and inner[-1:] in ("]", ")", "}"):
        first = inner.partition(",")[0].strip()
        if graph is not None and graph.ids.text and first in graph.ids:
            return
        parts = ",".join(part.strip(" '\"") for part in inner[1:-1].split(","))
        raise click.UsageError(f"`{name}`: a list has no brackets; write {name}={parts}")


def _a_single_vertex(name: str, text: str, graph: Graph) -> None:
    """Raise click.UsageError for a list of vertices as the value of a parameter of type vertex."""
    parts = [part.strip(" '\"") for part in text.strip().strip("[](){}").split(",")]
    if len(parts) > 1 and text not in graph.ids and all(part in graph.ids for part in parts):
        ids = [graph.ids.key(part) for part in parts]
        raise click.UsageError(f"`{name}` is a single vertex; write {name}={parts[0]}, or run the program for each "
                               f"vertex in Python: program.map(graph, {name}={ids})")


def _describes(text: str, graph: Graph) -> bool:
    """Return whether a text is a (correct or wrong) description of a list of vertices, such as `all`, and not a vertex
    id.
    """
    from vlang.api.arguments.vertex_lists import is_described  # start-up

    if not graph.ids.text:
        return is_described(text) or text.startswith("random:")  # binding reports a wrong description
    return is_described(text) and text not in graph.ids


def _vector(name: str, type_: str, text: str) -> Any:
    """Read the components of a vector from numbers with commas between them, or from a .npy file given as `@FILE.npy`.
    """
    if text.startswith("@"):
        return _of_npy(text[1:])
    if "," in type_.partition("[")[2]:
        raise click.UsageError(f"`{name}` is a matrix ({type_}); write {name}=@FILE.npy")
    _without_brackets(name, text)
    return [_plain(name, type_.partition("[")[0], part) for part in text.split(",")]


def _plain(name: str, type_: str, text: str) -> Any:
    """The value of a parameter of a plain type. Raises click.UsageError."""
    try:
        return _scalar(type_, text.strip())
    except ValueError:
        sample = {"bool": "true", "float": "0.5"}.get(_family(type_), "10")
        raise click.UsageError(f"`{name}` is {_article(type_)} {type_}, and `{text}` is none; "
                               f"write for example {name}={sample}") from None  # fmt: skip


def _listed(name: str, path: str, graph: Graph) -> Any:
    """The ids of the vertices that a file lists, as an array. Raises GraphError for ids that are not in the graph."""
    import numpy as np  # start-up

    from vlang.runtime.graph.edges.naming import located  # start-up
    from vlang.runtime.graph.edges.pool import Workers  # start-up
    from vlang.runtime.graph.read.vertices import parse_vertices  # start-up
    from vlang.runtime.threads.processors import available_threads  # start-up

    with Workers(available_threads()) as workers:
        found = parse_vertices(path if path == "-" else Path(path), workers).ids
    values = found.values.astype(str).astype(object) if graph.ids.text and not found.text else found.values
    there = located(graph.ids, values)[1]
    if not there.all():
        lost = values[np.flatnonzero(~there)]
        raise GraphError(f"`{name}`: {path}: {len(lost):,} of {len(values):,} ids are not in the graph, such as "
                         f"{lost.tolist()[0]!r}")
    return values


def _scalar(type_: str, text: str) -> Any:
    family = _family(type_)
    if family == "bool":
        if text not in ("true", "false"):
            raise ValueError(text)
        return text == "true"
    if family == "float":
        return float(text)
    if family == "text":
        return text
    if type_[0] != "u" and text in ("inf", "+inf", "-inf"):
        return math.inf if text[0] != "-" else -math.inf
    return int(text, 0) if text[:2].lower() == "0x" else int(text)


def _family(type_: str) -> str:
    if type_ == "category" or type_ in UNITS:
        return "text"  # read where it is bound
    return "bool" if type_ == "bool" else "float" if type_[0] == "f" else "int"


def vertex_of(name: str, text: str, graph: Graph) -> int | str:
    """Return the vertex id that a text means: an integer, or the text itself if the ids of the graph are strings.
    Raises GraphError.
    """
    vertex: int | str = text
    if not graph.ids.text:
        key = graph.ids.key(text)
        vertex = text if key is None else key
    try:
        graph.find(vertex)
    except GraphError as error:
        raise GraphError(f"`{name}`: {error}") from None
    return vertex


def field_values(program: Program, words: Sequence[str], graph: Graph, quiet: bool = False) -> dict[str, Any]:
    """Return the arrays of the options `--field NAME=SOURCE` by name. The first dimension of each array is the number
    of vertices.

    A required field needs no option if it is a column of the graph's table of vertices.

    Args:
        program: the program.
        words: the values NAME=SOURCE of the options. SOURCE may be a .npy file, or an .npz file with an array NAME,
            such as a result written by `vlang run -o`. SOURCE may also be FILE:COLUMN for a text, Parquet or Arrow file
            of vertices, or a number, true or false for all vertices. Files may be URLs.
        graph: the graph of the run.
        quiet: whether to leave out notes about unused rows.

    Raises:
        click.UsageError: an option is wrong.
        DiskError: a file cannot be read.
        GraphError: the content of a file does not fit the graph.
    """
    import numpy as np  # start-up

    from vlang.runtime.storage.inputs.remote import local  # start-up

    known = {f.name: f for f in program.fields}
    arrays: dict[str, Any] = {}
    for word in words:
        name, equals, source = word.partition("=")
        if not equals or not source:
            raise click.UsageError(f"`--field {word}`: write --field NAME=FILE.npy or --field NAME=NUMBER")
        if name not in known:
            raise click.UsageError(unknown(name, known, program.name).replace("parameter", "vertex field"))
        if source.endswith((".npy", ".npz")):
            arrays[name] = _array(name, local(source), graph)
            continue
        if found := _table_column(name, source):
            arrays[name] = _of_table(local(found[0]), found[1], graph, quiet, known[name].type)
            continue
        try:
            arrays[name] = np.full(graph.n, _scalar(known[name].type, source))
        except (ValueError, OverflowError):
            raise click.UsageError(f"`--field {word}`: `{source}` is neither a .npy or .npz file, nor FILE:COLUMN, nor "
                                   f"one value of type {known[name].type}") from None  # fmt: skip
    there = () if graph.vertex_columns is None else graph.vertex_columns.names
    missing = [f for f in program.fields if f.required and f.name not in arrays and f.name not in there]
    if missing:
        needs = " and ".join(f"`{f.name}` ({f.type})" for f in missing)
        raise click.UsageError(f"{program.name} needs the vertex field {needs}; write "
                               + " ".join(f"--field {f.name}=FILE.npy" for f in missing))  # fmt: skip
    return arrays


def _table_column(name: str, source: str) -> tuple[str, str] | None:
    """The file and column of the source `FILE:COLUMN`; None for another source. The source `FILE` means the column
    `name`.
    """
    from vlang.runtime.storage.inputs.remote import is_remote  # start-up

    path, colon, column = source.rpartition(":")
    if colon and column and (is_remote(path) or os.path.exists(path)):
        return path, column
    return (source, name) if is_remote(source) or os.path.isfile(source) else None


def _of_table(path: str | Path, column: str, graph: Graph, quiet: bool, type_: str) -> Any:
    """A column of a file of vertices, in the order of the graph's vertices.

    Args:
        path: the path of the file.
        column: the name of the column.
        graph: the graph of the run.
        quiet: whether to leave out notes about unused rows.
        type_: the type of the field that takes the column.
    """
    from vlang.runtime.graph.vertex_columns import columns_of_file  # start-up

    values, unused = columns_of_file(path).joined(column, graph.ids, type_)
    if unused and not quiet:
        rows = "row" if unused == 1 else "rows"
        note(f"{path}: not used: {unused:,} {rows}, of vertices that the graph does not have")
    return values


def unused_columns(program: Program, graph: Graph, given: Iterable[str]) -> str:
    """A note about used and unused columns of the graph's table of vertices; "" if it has no columns.

    Args:
        given: the names of the fields given by options.
    """
    if graph.vertex_columns is None or not graph.vertex_columns.names:
        return ""
    names, source = graph.vertex_columns.names, graph.vertex_columns.source
    needed = {f.name for f in program.fields if f.required} - set(given)
    taken = [one for one in names if one in needed]
    own = {f.name for f in program.fields if not f.required}  # a warning of the result names these
    other = [one for one in names if one not in taken and one not in own and one not in given]
    parts = [f"vertex fields from its columns: {', '.join(taken)}"] if taken else []
    parts += [f"not used: {', '.join(other)}"] if other else []
    return f"{source}: {'; '.join(parts)}" if parts else ""


def _array(name: str, source: str | Path, graph: Graph) -> Any:
    """Return an array from a .npy or .npz file. The length of the array must fit the graph, and so must the vertex ids
    of the array, if there are any.

    Raises DiskError and GraphError.
    """
    import numpy as np  # start-up

    from vlang.runtime.storage.inputs.spool import check_file  # start-up

    check_file(source, "a .npy or .npz file")
    array, ids = _of_archive(name, source, graph.n) if _is_zip(source) else (_of_npy(source), None)
    if array.shape[:1] != (graph.n,):  # binding checks the rest
        raise GraphError(f"{source}: `{name}` has shape {array.shape}; the graph has {graph.n} vertices")
    if ids is not None and not np.array_equal(ids.astype(str), graph.ids.values.astype(str)):
        raise GraphError(f"{source} was written for a graph with other vertices")
    return np.array(array)


def _is_zip(source: str | Path) -> bool:
    try:
        with open(source, "rb") as file:
            return file.read(2) == b"PK"
    except OSError as error:
        raise DiskError(f"cannot read {source}: {(error.strerror or str(error)).lower()}") from error


def _of_npy(source: str | Path) -> Any:
    """Return the array of a .npy file as a memory map, so that its shape can be compared with the graph before data is
    read.
    """
    import tokenize  # start-up

    import numpy as np  # start-up

    try:
        return np.load(source, mmap_mode="r", allow_pickle=False)
    except OSError as error:
        raise DiskError(f"cannot read {source}: {(error.strerror or str(error)).lower()}") from error
    except (ValueError, EOFError, TypeError, SyntaxError, OverflowError, tokenize.TokenError) as error:
        raise GraphError(f"{source} is not a NumPy file of plain numbers: {error}") from error


def _of_archive(name: str, source: str | Path, n: int) -> tuple[Any, Any]:
    """Return the array `name` of an .npz file, and the vertex ids in the file (None if there are no ids)."""
    from vlang.runtime.graph.formats.archive import Archive  # start-up

    with Archive(source if isinstance(source, Path) else Path(source)) as archive:
        if name not in archive:
            raise GraphError(f"{source} has no array `{name}`; it has {', '.join(archive.names)}")
        array = archive.rows(name, "biufUSM", n)
        return array, archive.rows("vertex", "biufUS", n) if "vertex" in archive else None


def _choice(known: dict[str, Parameter]) -> str:
    return f" with a name out of {', '.join(known)}" if known else "; this program takes no parameters"


def _sample(parameter: Parameter) -> str:
    if "[" in parameter.type:
        return "@FILE.npy" if "," in parameter.type.partition("[")[2] else "1,2,3"
    return {"vertex": "1", "vertices": "1,2,3", "bool": "true", "float": "0.5"}.get(parameter.type, "3")


def _article(type_: str) -> str:
    return "an" if type_[0] == "i" or type_ in ("f16", "f32", "f64") else "a"

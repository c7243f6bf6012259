"""Binds the arguments of a call, that is, parameters and fields, and checks each argument against its declaration."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from vlang.api.arguments.named import check_kinds, codes_of, time_value, times_of
from vlang.api.arguments.vertex_lists import described_list, is_described
from vlang.errors import BindError, GraphError
from vlang.ir.forms import forms as f
from vlang.options import OPTIONS
from vlang.runtime.graph.edges.given import refuse_masked
from vlang.runtime.graph.edges.labelled import in_vertex_order
from vlang.runtime.graph.edges.naming import dense_vertices
from vlang.types import BOOL, CATEGORY, F16, VERTEX, Scalar, Vector, VertexSet

if TYPE_CHECKING:
    from vlang.runtime.graph.graph import Graph

__all__ = ["bind_fields", "bind_parameters", "kept_parameters"]


def bind_parameters(
    program: f.Program, graph: Graph, arguments: dict[str, Any], name: str
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Convert the arguments that are parameters; return the converted parameters and the remaining arguments.

    Args:
        program: the IR, with the declarations of the parameters.
        graph: maps vertex ids to dense numbers.
        arguments: the keywords of the call.
        name: the name of the program, for messages.

    Returns:
        Two dicts: the parameters by name, with vertices as dense numbers, and the arguments that are not parameters.

    Raises BindError for a missing or wrong parameter.
    """
    values: dict[str, Any] = {}
    rest = dict(arguments)
    for param in program.params:
        if param.name in program.texts:
            continue
        if param.name not in rest:
            if param.default is None:
                shown = program.shown.get(param.name)
                need = _spoken(param) if shown is None else "the name of a category" if shown == CATEGORY else \
                    f"a {shown}"
                raise BindError(f"{name} needs `{param.name}`, {need}: {param.name}=...")
            continue
        value = rest.pop(param.name)
        try:
            values[param.name] = _parameter(param, graph, value, program.shown.get(param.name))
        except (BindError, GraphError) as error:
            raise _beside_option(error, param.name, "parameter", name) from None
    return values, rest


def kept_parameters(program: f.Program, arguments: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments with copies of all lists and vectors, so that a later run can bind the same values again."""
    return {**arguments, **{param.name: _copied(arguments[param.name]) for param in program.params
                            if isinstance(param.type, Vector | VertexSet) and param.name in arguments}}


def _copied(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return value.copy()
    return value if isinstance(value, (str, bytes)) or not hasattr(value, "__iter__") else list(value)


def _beside_option(error: BindError | GraphError, name: str, what: str, program: str) -> BindError | GraphError:
    """The error of an argument. If an option has the same name as the argument, the error also explains the option."""
    if name not in OPTIONS and name not in ("options", "research"):
        return error
    meant = f"options={{\"{name}\": ...}}" if name in OPTIONS else "vlang.Options(...) after the graph"
    return type(error)(f"{error}. `{name}` is a {what} of {program}; for run options write {meant}")


def _parameter(param: f.ParamDecl, graph: Graph, value: Any, shown: Scalar | None) -> Any:
    """Convert the value of a parameter to the form that the engine takes. Raises BindError or GraphError.

    Args:
        shown: the type of the parameter, if it is `category` or a type of times. A category stays a text, which
            `name_run` later replaces by a number.
    """
    if shown == CATEGORY:
        if not isinstance(value, str) or not value:
            raise BindError(f"`{param.name}` is the name of a category, as a text, not {value!r}")
        return str(value)
    if shown is not None:
        value = time_value(param.name, shown, value)
    if isinstance(param.type, VertexSet):
        return _members(param.name, graph, value)
    if isinstance(param.type, Scalar):
        _refuse_list(param, value)
    if param.type == VERTEX:
        return graph.find(value)
    if isinstance(param.type, Vector):
        return _vector(param, param.type, value)
    assert isinstance(param.type, Scalar)
    return _scalar(param.name, param.type, value)


def _refuse_list(param: f.ParamDecl, value: Any) -> None:
    """Raise BindError for a list of values in place of a single value."""
    if isinstance(value, (list, tuple, set, range)) or (isinstance(value, np.ndarray) and value.ndim):
        what = "one vertex" if param.type == VERTEX else f"one value ({param.declared})"
        raise BindError(f"`{param.name}` takes {what}, not a list; `program.map(graph, {param.name}=[...])` runs the "
                        "program once for each")


def _vector(param: f.ParamDecl, type_: Vector, value: Any) -> NDArray[Any]:
    """The stored components of a vector, or of a matrix in row-major order."""
    shape = param.shape or (type_.size,)
    what = f"an array of {' x '.join(map(str, shape))} numbers ({param.declared})"
    refuse_masked(f"`{param.name}`", value)
    try:
        array = np.asarray(value)
    except ValueError:
        raise BindError(f"`{param.name}` is {what}; its rows have different lengths") from None
    if array.shape != shape or array.dtype.kind not in "biuf":
        have = f"of shape {array.shape}" if array.dtype.kind in "biuf" else f"of {array.dtype}"
        raise BindError(f"`{param.name}` is {what}, not one {have}")
    return _stored(param, type_.item, array).reshape(-1)


def _spoken(param: f.ParamDecl) -> str:
    if isinstance(param.type, Vector):
        return f"an array ({param.declared})"
    if isinstance(param.type, VertexSet):
        return "a list of vertices of the graph"
    return "a vertex of the graph" if param.type == VERTEX else "a number" if param.type != BOOL else "a truth value"


def _members(name: str, graph: Graph, value: Any) -> NDArray[np.uint32]:
    """The dense numbers of a list of vertices, in the order of the list."""
    if isinstance(value, str) and is_described(value):
        return described_list(name, graph, value)
    if isinstance(value, (str, bytes)) or not hasattr(value, "__iter__"):
        raise BindError(f"`{name}` is a list of vertices, not {value!r}; \"all\" and \"random:64\" are lists, too")
    refuse_masked(f"`{name}`", value)
    members = value if isinstance(value, np.ndarray) else list(value)
    if len(members) > graph.n:
        raise BindError(f"`{name}` lists {len(members):,} vertices, some more than once: a graph of {graph.n:,} "
                        "vertices takes no longer list")
    return np.array([graph.find(v) for v in members], dtype=np.uint32)


def _article(type_: Scalar) -> str:
    return "a" if type_.kind == "uint" else "an"  # an i8, an f16


def _scalar(name: str, type_: Scalar, value: Any) -> bool | int | float:
    """Convert a value to the type of a parameter. Raises BindError."""
    value = value.item() if isinstance(value, np.generic) else value
    if type_ == BOOL:
        if isinstance(value, bool):
            return value
        raise BindError(f"`{name}` is true or false, not {value!r}")
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise BindError(f"`{name}` is a number ({type_}), not {value!r}")
    if type_.floating:
        try:
            number = float(value)
        except OverflowError:
            raise BindError(f"`{name}` is {_article(type_)} {type_}; a number this large does not fit") from None
        if type_.bits == 64:
            return number
        with np.errstate(over="ignore"):  # tested below
            stored = np.dtype(f"float{type_.bits}").type(number)
        if np.isinf(stored) and not np.isinf(number):
            raise BindError(f"`{name}` is {_article(type_)} {type_}; {_too_large(number, type_)}")
        return int(stored.view(np.uint16)) if type_ == F16 else number  # f16 is stored as its 16 bits
    if value in (float("inf"), float("-inf")) and type_.kind == "int":
        return type_.highest if value > 0 else type_.lowest
    if isinstance(value, float) and not value.is_integer():
        raise BindError(f"`{name}` is a whole number ({type_}), not {value!r}")
    if not type_.lowest <= int(value) <= type_.highest:
        shown = int(value) if abs(value) < 1 << 80 else "a number this large"
        limits = f"from {type_.lowest} to {type_.highest}"
        raise BindError(f"`{name}` is {_article(type_)} {type_}, {limits}; {shown} does not fit")
    return int(value)


def bind_fields(program: f.Program, graph: Graph, arguments: dict[str, Any], name: str) -> dict[str, Any]:
    """The stored arrays of the vertex fields that a call passes: shape [n], or [n * k] for vectors, in row-major order.

    A field of type `category` becomes a `Coded`, which `name_run` later replaces by an array.

    Args:
        program: the IR, with the declarations of the fields.
        graph: the graph of the run.
        arguments: fields by name, without the parameters of the call.
        name: the name of the program, for messages.

    Raises BindError for a field that is missing or has the wrong shape or type, and GraphError if the column of an edge
    field could not be read.
    """
    arrays: dict[str, Any] = {}
    for decl in program.fields:
        if decl.name in arguments:
            try:
                arrays[decl.name] = _bound(program, decl, graph, arguments[decl.name])
            except (BindError, GraphError) as error:
                raise _beside_option(error, decl.name, "field", name) from None
        elif decl.required and graph.vertex_columns is not None and decl.name in graph.vertex_columns.names:
            type_ = str(program.shown.get(decl.name, decl.type))
            joined, _ = graph.vertex_columns.joined(decl.name, graph.ids, type_)
            try:
                arrays[decl.name] = _bound(program, decl, graph, joined)
            except BindError as error:
                raise BindError(f"{graph.vertex_columns.source}: {error}") from None
        elif decl.required:
            type_ = str(program.shown.get(decl.name, decl.type))
            raise BindError(f"{name} needs the vertex field `{decl.name}`: an array of {_shape(decl, graph)} values "
                            f"({type_}), one a vertex in the order of graph.ids, or a Series or dict by vertex "
                            f"id: {decl.name}=...")
    for edge in program.edges:
        if edge.name in graph.left_out and edge.name not in graph.columns:
            why = graph.left_out[edge.name].reason
            raise GraphError(f"{name} reads the edge field `{edge.name}`, and that column could not be read\n{why}")
        if edge.default is None and edge.name not in graph.columns:
            have = ", ".join(f"`{c}`" for c in graph.columns) or "none"
            type_ = str(program.shown.get(edge.name, edge.type))
            raise BindError(f"{name} needs the edge field `{edge.name}` ({type_}), and the graph's edges have "
                            f"{have}; read the graph with weights, or name a column `{edge.name}`")
    check_kinds(program, graph, name)
    return arrays


def _bound(program: f.Program, decl: f.FieldDecl, graph: Graph, value: Any) -> Any:
    shown = program.shown.get(decl.name)
    if shown is None:
        return _array(decl, graph, value).reshape(-1)
    array = in_vertex_order(decl.name, graph, value, False)
    if array.shape != (graph.n,):
        raise BindError(f"`{decl.name}` is an array of {_shape(decl, graph)} values, one a vertex, not of shape "
                        f"{array.shape}")
    if shown == CATEGORY:
        return codes_of(decl.name, array)
    return _array(decl, graph, times_of(decl.name, shown, array))


def _array(decl: f.FieldDecl, graph: Graph, value: Any) -> NDArray[Any]:
    vector = decl.type if isinstance(decl.type, Vector) else None
    array = in_vertex_order(decl.name, graph, value, vector is not None)
    type_ = vector.item if vector else decl.type
    assert isinstance(type_, Scalar)
    shape = (graph.n, vector.size) if vector else (graph.n,)
    if array.shape != shape:
        column = f"; a column has one value a vertex: give vectors as an array, such as --field {decl.name}=FILE.npy" \
            if vector is not None and array.ndim == 1 else ""
        raise BindError(f"`{decl.name}` is an array of {_shape(decl, graph)} values, one a vertex, not of shape "
                        f"{array.shape}{column}")
    if type_ == VERTEX:
        return dense_vertices(graph.ids, array)
    return _stored(decl, type_, array, graph)


def _stored(decl: f.FieldDecl | f.ParamDecl, type_: Scalar, array: NDArray[Any],
            graph: Graph | None = None) -> NDArray[Any]:
    """Convert numbers or bools of any type to the stored form of a type. Raises BindError."""
    if type_ == BOOL:
        if array.dtype != np.bool_ and not np.isin(array, (0, 1)).all():
            raise BindError(f"`{decl.name}` is an array of truth values, not of {array.dtype}")
        return array.astype(np.uint8)
    if array.dtype.kind not in "biuf":
        texts = array.dtype.kind in "UTO" and len(array) and isinstance(array.flat[0], str)
        kind = "texts" if texts else array.dtype
        raise BindError(f"`{decl.name}` is an array of numbers ({decl.type}), not of {kind}")
    if type_.floating:
        stored = _floats(decl, type_, array)
        return stored.view(np.uint16) if type_ == F16 else stored
    return _integers(decl, type_, array, graph)


def _shape(decl: f.FieldDecl, graph: Graph) -> str:
    return f"{graph.n:,} x {decl.type.size}" if isinstance(decl.type, Vector) else f"{graph.n:,}"


def _floats(decl: f.FieldDecl | f.ParamDecl, type_: Scalar, array: NDArray[Any]) -> NDArray[Any]:
    """Convert an array to the floats of a field. Raises BindError if a finite value would become infinite."""
    if array.dtype == f"float{type_.bits}":
        return array.copy()
    with np.errstate(over="ignore"):
        stored = array.astype(f"float{type_.bits}")
    if array.dtype.kind != "f" or array.dtype.itemsize > stored.dtype.itemsize:
        lost = np.isinf(stored) & np.isfinite(array)
        if lost.any():
            raise BindError(f"`{decl.name}` is an array of {type_}; {_too_large(float(array[lost][0]), type_)}")
    return stored


def _too_large(number: float, type_: Scalar) -> str:
    help_ = {16: "; declare a wider type", 32: "; --precision 64 (precision=64) or the type f64 holds it"}
    most = float(np.finfo(f"float{type_.bits}").max)
    return f"{number:g} does not fit, {type_} ends at {most:g}{help_.get(type_.bits, '')}"


def _misfit(type_: Scalar, array: NDArray[Any], infinite: NDArray[Any], graph: Graph | None) -> str:
    """Return the first value that does not fit an integer type, the vertex of this value, and a type that fits the
    value.
    """
    finite = np.where(infinite, np.zeros((), array.dtype), array).reshape(-1)
    broken = np.flatnonzero(finite != np.trunc(finite))
    below = int(finite.min()) < type_.lowest
    at = int(broken[0] if len(broken) else finite.argmin() if below else finite.argmax())
    value = finite[at].item()
    said = f"{value:g}" if len(broken) else f"{int(value)}"
    wider = "float" if len(broken) else "i64" if type_.bits < 64 and -(1 << 63) < value < 1 << 63 else ""
    return f"{said} {_whose(at, array, graph)}{f'; the type {wider} holds it' if wider else ''}"


def _whose(at: int, array: NDArray[Any], graph: Graph | None) -> str:
    """Return the vertex, or the component of a parameter, to which element number `at` of a flattened array belongs."""
    return f"in component {at}" if graph is None else f"of vertex {graph.label(at // (array.size // graph.n))}"


def _integers(decl: f.FieldDecl | f.ParamDecl, type_: Scalar, array: NDArray[Any],
              graph: Graph | None) -> NDArray[Any]:
    """Convert an array to the stored integers of a field.

    Infinite floats become the values `inf` and `-inf` of the type of the field.
    """
    dtype = np.dtype(("uint" if type_.kind == "uint" else "int") + str(type_.bits))
    result = np.empty(array.shape, dtype=dtype)
    if array.dtype.kind == "f" and np.isnan(array).any():
        raise BindError(f"`{decl.name}` is an array of whole numbers ({type_}); some values are NaN, such as that "
                        f"{_whose(int(np.isnan(array).reshape(-1).argmax()), array, graph)}")
    infinite = np.isinf(array) if array.dtype.kind == "f" else np.zeros(array.shape, dtype=bool)
    finite = array[~infinite]
    # Limits are compared as Python integers: the largest i64, as a float, is rounded up to a number that does not fit.
    outside = len(finite) and (int(finite.min()) < type_.lowest or int(finite.max()) > type_.highest)
    if outside or (finite != np.trunc(finite)).any():
        raise BindError(f"`{decl.name}` is an array of whole numbers ({type_}); some values do not fit, such as "
                        f"{_misfit(type_, array, infinite, graph)}")
    if infinite.any() and type_.kind == "uint":
        raise BindError(f"`{decl.name}` is {type_}, which has no inf")
    result[~infinite] = finite.astype(dtype)
    result[infinite & (array > 0)] = type_.highest
    result[infinite & (array < 0)] = type_.lowest
    return result

"""Expressions of the reference interpreter, evaluated for all rows at once."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import fields, replace

import numpy as np

from tests.reference import operators as ops
from tests.reference import special
from tests.reference.exact import computes, narrowed, refuse_infinite, widest
from tests.reference.graph import RefGraph
from tests.reference.grouped import Groups, groups_of, of_groups, weighted_mode
from tests.reference.reductions import BUILT_IN, fold, reduce_groups, with_default
from tests.reference.state import GRAPH_LEVEL, Binding, Column, Env, Frame, Rows, Store, read
from tests.reference.values import (
    Array,
    Value,
    convert,
    counter,
    declared,
    definite,
    dtype,
    item,
    literal,
    spread,
    take,
    tuple_of,
)
from vlang.syntax import tree as t
from vlang.times import time_of
from vlang.types import BOOL, CATEGORY, F64, I64, TEXT, VERTEX, Tuple, Type, Vector, scalar_named


def walk(node: object) -> Iterator[t.Node]:
    """Yield a node of the tree and all nodes inside it."""
    if isinstance(node, t.Node):
        yield node
        for part in fields(node):
            yield from walk(getattr(node, part.name))
    elif isinstance(node, tuple):
        for part in node:
            yield from walk(part)


def walk_superstep(node: object) -> Iterator[t.Node]:
    """Yield the nodes that `walk` yields, except nodes in supersteps of inner loops, which have their own `iteration`.
    """
    if isinstance(node, t.Repeat):
        yield from walk(node.limit)
    elif isinstance(node, t.Node):
        yield node
        for part in fields(node):
            yield from walk_superstep(getattr(node, part.name))
    elif isinstance(node, tuple):
        for part in node:
            yield from walk_superstep(part)


def reads_change(node: t.Node, name: str | None = None) -> bool:
    """Return whether `change(u.f)` occurs for the vertex variable u = `name`. If `name` is None, return whether any
    `change` occurs.
    """
    return any(
        isinstance(call, t.Call) and call.name == "change" and (name is None or _is_member(call.args[0], name))
        for call in walk(node)
    )


def _is_member(expr: t.Expr, name: str) -> bool:
    return isinstance(expr, t.Member) and isinstance(expr.value, t.Name) and expr.value.name == name


class Evaluator:
    """Evaluates expressions against one graph and the running loops."""

    def __init__(self, file: t.File, graph: RefGraph, precision: int) -> None:
        self.graph = graph
        self.precision = precision
        self.names: list[str] = []  # of categories, which are positions here
        self.frames: list[Frame] = []
        self._groups: list[Groups] = []  # the groups of the grouped gather that is being evaluated
        self._mode = ""  # integer arithmetic: "wrap" inside `wrap(...)`, "exact" in the body of a reduction
        self.functions = {i.name: i for i in file.items if isinstance(i, t.Function)}
        self.reductions = {i.name: i for i in file.items if isinstance(i, t.Reduction)}
        self._degrees = {"degree": graph.degree, "indegree": graph.indegree, "outdegree": graph.outdegree}

    def eval(self, expr: t.Expr, rows: Rows, env: Env) -> Value:
        """Return the value of an expression: one entry for each row, or one entry for all rows."""
        match expr:
            case t.Literal(value=str(text)):
                return Value(TEXT, lambda scalar: np.array(self.names.index(text) if scalar == CATEGORY else
                                                           time_of(text, scalar.name)))
            case t.Literal(value=bool() | int() | float() | None as value):
                return literal(value)
            case t.Self():
                assert rows.own is not None
                return Value(VERTEX, rows.own)
            case t.Name():
                return self._name(expr.name, rows, env)
            case t.Member():
                return self._member(expr, rows, env)
            case t.Index():
                return self._index(expr, rows, env)
            case t.Unary(op="-"):
                side = self.eval(expr.value, rows, env)
                return self._within((side,), ops.negate(side, self._mode == "wrap"))
            case t.Unary():
                return Value(BOOL, ~ops.truth(self.eval(expr.value, rows, env)))
            case t.Binary(op=op, left=left, right=right):
                sides = self.eval(left, rows, env), self.eval(right, rows, env)
                if op == "@":
                    return ops.product(*sides, self.precision)
                return self._within(sides, ops.binary(op, *sides, self.precision, self._mode == "wrap"))
            case t.Compare(op=op, left=left, right=right):
                return ops.compare(op, self.eval(left, rows, env), self.eval(right, rows, env), self.precision)
            case t.Logical(op=op, left=left, right=right):
                a, b = ops.truth(self.eval(left, rows, env)), ops.truth(self.eval(right, rows, env))
                return Value(BOOL, np.asarray(a & b if op == "and" else a | b))
            case t.Conditional():
                test = ops.truth(self.eval(expr.test, rows, env))
                return ops.choose(test, self.eval(expr.yes, rows, env), self.eval(expr.no, rows, env))
            case t.TupleExpr(items=items):
                return tuple_of(tuple(self.eval(i, rows, env) for i in items))
            case t.VectorExpr(items=items):
                parts = [self.eval(i, rows, env) for i in items]
                return ops.matrix_of(parts) if isinstance(parts[0].type, Vector) else ops.vector_of(parts)
            case t.Call():
                return self._call(expr, rows, env)
            case t.Reduce():
                return self.reduce(expr, rows, env)
        raise TypeError(f"no expression: {expr}")

    # ---- names

    def _name(self, name: str, rows: Rows, env: Env) -> Value:
        if name in rows.members:
            return Value(VERTEX, rows.members[name])
        if name not in env:
            return self._predefined(name, rows)
        bound = env[name]
        if isinstance(bound, Value):
            return bound
        if isinstance(bound, Column):
            assert rows.edge is not None, f"no edge in sight for {name}"
            return read(take(bound.value, rows.edge), bound.type)
        assert rows.own is not None, f"whose {name}?"
        return bound.rows(rows.own)

    def _predefined(self, name: str, rows: Rows) -> Value:
        if name in self._degrees:
            assert rows.own is not None, f"whose {name}?"
            return self._integers(self._degrees[name][rows.own])
        numbers = {"N": self.graph.n, "M": self.graph.m}
        if name == "iteration":
            return counter(self.frames[-1].iteration, counts=True)
        return counter(numbers[name], counts=True)

    def _integers(self, numbers: Array) -> Value:
        """Return numbers of the type `int`."""
        scalar = scalar_named("int", self.precision)
        return Value(scalar, numbers.astype(dtype(scalar)))

    def _vertex(self, expr: t.Expr, rows: Rows, env: Env) -> Array:
        """Return the vertices that the expression before a `.` denotes."""
        value = self.eval(expr, rows, env)
        if value.type != VERTEX:
            raise TypeError(f". on a {value.type}")
        return value.raw

    def _member(self, expr: t.Member, rows: Rows, env: Env) -> Value:
        index = self._vertex(expr.value, rows, env)
        if expr.name in self._degrees:
            degrees = np.append(self._degrees[expr.name], 0)
            return self._integers(degrees[index])  # -1, none, has no edges
        store = env[expr.name]
        assert isinstance(store, Store)
        return store.rows(index)

    def _index(self, expr: t.Index, rows: Rows, env: Env) -> Value:
        value, index = self.eval(expr.value, rows, env), self.eval(expr.index, rows, env)
        places = definite(index, self.precision).raw
        if isinstance(value.type, Tuple):
            return value.parts[int(places)]
        parts = ops.components(value)
        result = parts[-1]
        for place in range(len(parts) - 1):
            result = ops.choose(np.asarray(places == place), parts[place], result)
        return result

    # ---- calls

    def _call(self, expr: t.Call, rows: Rows, env: Env) -> Value:
        name = expr.name
        if name in ("old", "change", "changed"):
            return self._past(name, expr.args[0], rows, env)
        if name == "reverse" and isinstance(expr.args[0], t.Name) and isinstance(env.get(expr.args[0].name), Column):
            opposite = self.graph.opposites()
            assert rows.edge is not None
            return self._name(expr.args[0].name, replace(rows, edge=opposite[rows.edge]), env)
        if name == "edges" or (name not in self.functions and name not in self.reductions and name in env):
            return self._between(expr, rows, env)
        if name == "wrap":
            with self._computing("wrap"):
                return self.eval(expr.args[0], rows, env)
        if (longer := self.written_out(expr)) is not None:
            return self.eval(longer, rows, env)
        args = [value for a in expr.args for value in
                (self._edge_keys(rows) if isinstance(a, t.EdgeKey) else (self.eval(a, rows, env),))]
        if name in self.functions:
            return self._function(self.functions[name], args, env)
        if name in self.reductions:
            return self.join(self.reductions[name], args[0], args[1], env)
        if name in ("min", "max", "sum") and len(args) == 1:
            return ops.folded(name, args[0], self.precision)
        if name in ("min", "max"):
            result = args[0]
            for other in args[1:]:
                result = ops.extreme(name, result, other, self.precision)
            return result
        return self._built_in(name, args)

    def _edge_keys(self, rows: Rows) -> tuple[Value, ...]:
        """Return the three keys that `edge` denotes.

        Two keys are the tail and the head, or in `u -- self` the smaller and the larger number. The third key is the
        ordinal among the stored edges with the same tail and head.
        """
        graph = self.graph
        assert rows.edge is not None
        tail, head = graph.src[rows.edge], graph.dst[rows.edge]
        ordinal = Value(I64, graph.ordinals(graph.src, graph.dst, np.arange(graph.m))[rows.edge])
        if rows.undirected:
            tail, head = np.minimum(tail, head), np.maximum(tail, head)
        return Value(VERTEX, tail), Value(VERTEX, head), ordinal

    def _picked(self, expr: t.Reduce, rows: Rows, env: Env) -> Value:
        """Evaluate `pick`. Without weights, return the value of the edge with the least hash. With weights, each hash
        gives an exponential time, which is divided by the weight; return the value of the edge with the least quotient.
        """
        _, inner, row, _ = self.reached(expr, rows, env)
        place = self._places(expr, inner)
        if expr.cond is not None:
            holds = np.broadcast_to(ops.truth(definite(self.eval(expr.cond, inner, env), self.precision)), len(row))
            place = place[holds]
            inner, row = _keep(inner, row, holds)
        keys = [self.eval(key, inner, env) for key in expr.keys]
        weight = None if expr.weight is None else self.eval(expr.weight, inner, env)
        body = self.eval(expr.body, inner, env)
        default = literal(None) if expr.default is None else self.eval(expr.default, rows, env)
        return self.chosen(expr, inner, row, (keys, place, weight, body), default, rows.count or 0)

    def _places(self, expr: t.Reduce, inner: Rows) -> Array:
        """Return, for each edge of a pick, the number of earlier edges in the same row that lead to the same neighbour.
        """
        assert inner.own is not None
        assert inner.edge is not None
        return self.graph.ordinals(inner.own, inner.members[expr.domain.name], inner.edge)

    def chosen(self, expr: t.Reduce, inner: Rows, row: Array,
               of_edges: tuple[list[Value], Array, Value | None, Value], default: Value, count: int) -> Value:
        """Return the value of a pick for each row.

        Args:
            expr: The pick.
            inner: The edges of the pick.
            row: The row of each edge.
            of_edges: The keys (the seed is the first key), places, weights and values of the edges.
            default: The value of a row without edges.
            count: The number of rows.
        """
        keys, place, weight, body = of_edges
        assert inner.own is not None
        ends = Value(VERTEX, inner.own), Value(VERTEX, inner.members[expr.domain.name]), Value(I64, place)
        hashes = [int(h) for h in spread(special.hashed(self.graph, [*keys, *ends]), len(row)).raw]
        body = spread(definite(body, self.precision), len(row))
        order: list[float] = [h & (1 << 63) - 1 for h in hashes]
        if weight is not None:
            weights = spread(convert(definite(weight, self.precision), F64), len(row)).raw.tolist()
            times = -np.log(np.array([(h >> 11) + 1 for h in hashes], np.float64) * 2.0**-53)
            order = [time / w if w > 0 else np.inf for time, w in zip(times.tolist(), weights, strict=True)]
        values = [v & 0xFFFFFFFF if body.type == VERTEX else v for v in body.raw.tolist()]  # `none` comes last
        best: dict[int, int] = {}
        for at, r in enumerate(row.tolist()):
            if order[at] < np.inf and (r not in best or (order[at], values[at]) < (order[best[r]], values[best[r]])):
                best[r] = at
        if not len(row):
            return spread(convert(default, body.type), count)
        result = take(body, np.array([best.get(r, 0) for r in range(count)], np.int64))
        return with_default(result, np.array([r in best for r in range(count)], np.int64), default)

    def written_out(self, expr: t.Call) -> t.Expr | None:
        """Return `pow(a, b)` as `a ** b`, and `clamp(x, low, high)` as `min(max(x, low), high)`; None for other calls.
        """
        if expr.name in self.functions or expr.name in self.reductions:
            return None
        if expr.name == "pow":
            return t.Binary(expr.span, "**", *expr.args)
        if expr.name == "clamp":
            value, low, high = expr.args
            return t.Call(expr.span, "min", expr.span, (t.Call(expr.span, "max", expr.span, (value, low)), high))
        return None

    def _built_in(self, name: str, args: list[Value]) -> Value:
        precision = self.precision
        match name:
            case "atan2":
                return ops.angle(args[0], args[1], precision)
            case "mean":
                return ops.mean(args[0], precision)
            case "argmin" | "argmax":
                return ops.place(name, args[0], precision)
            case "dot":
                return ops.folded("sum", ops.binary("*", args[0], args[1], precision), precision)
            case "reverse":
                return ops.vector_of(ops.components(args[0])[::-1])
            case "bit":
                return ops.bit(args[0])
            case t.CONTAINED:
                return Value(BOOL, special.position(args[0], args[1], precision).raw >= 0)
            case "len":
                return self._integers(np.asarray(len(args[0].raw)))
            case "position":
                return special.position(args[0], args[1], precision)
            case "random":
                return special.random(self.graph, args, precision)
            case "common":
                return special.common_neighbours(self.graph, args[0], args[1], precision)
            case "hll_unit":
                return special.hll_unit(self.graph, args[0], args[1])
            case "hll_size":
                return special.hll_size(args[0], precision)
        return ops.maths(name, args[0], precision)

    def _function(self, function: t.Function, args: list[Value], env: Env) -> Value:
        """Evaluate the body of a `fn`, with arguments converted to the declared types."""
        inner: dict[str, Binding] = {}
        for place, param in enumerate(function.params):
            if place < len(args):
                value = args[place]
            else:
                assert param.default is not None
                value = self.eval(param.default, GRAPH_LEVEL, env)
            type_ = self._argument_type(param, env)
            inner[param.name] = read(convert(value, type_), type_)
        with self._computing(""):
            result = self.eval(function.value, GRAPH_LEVEL, env.new_child(inner))
        if function.type is None:
            return definite(result, self.precision)
        type_ = declared(function.type, self.precision)
        return read(convert(result, type_), type_)

    def _argument_type(self, param: t.Param, env: Env) -> Type:
        """Return the type of a parameter of a `fn`: the declared type, or the type of the default, or `float`."""
        if param.type is not None:
            return declared(param.type, self.precision)
        if param.default is not None:
            return definite(self.eval(param.default, GRAPH_LEVEL, env), self.precision).type
        return scalar_named("float", self.precision)

    def _reduction_type(self, reduction: t.Reduction) -> Type:
        return declared(reduction.type, self.precision) if reduction.type else scalar_named("float", self.precision)

    def join(self, reduction: t.Reduction, a: Value, b: Value, env: Env) -> Value:
        """Combine two values by a declared reduction."""
        type_ = self._reduction_type(reduction)
        wide = widest(type_) if computes(reduction.value) else type_
        a, b = (convert(convert(x, type_), wide) for x in (a, b))
        return narrowed(self._joined(reduction, wide, a, b, env), type_)

    def _joined(self, reduction: t.Reduction, wide: Type, a: Value, b: Value, env: Env) -> Value:
        """Combine two values with 64-bit integers exactly. Raises OverflowError if a result does not fit 64 bits."""
        inner: dict[str, Binding] = {reduction.left: a, reduction.right: b}
        with self._computing("exact"):
            return convert(self.eval(reduction.value, GRAPH_LEVEL, env.new_child(inner)), wide)

    def _within(self, sides: tuple[Value, ...], result: Value) -> Value:
        """Return the result of an operation.

        In the body of a declared reduction, raise OverflowError if finite integers give an infinite result.
        """
        if self._mode == "exact" and item(result.type).kind == "int":
            refuse_infinite(sides, result)
        return result

    @contextmanager
    def _computing(self, mode: str) -> Iterator[None]:
        """Return a context manager in which `+ - *` of integers wrap ("wrap") or must fit 64 bits ("exact")."""
        outer, self._mode = self._mode, mode
        try:
            yield
        finally:
            self._mode = outer

    def _past(self, name: str, arg: t.Expr, rows: Rows, env: Env) -> Value:
        """Return the value of `old(f)`, `changed(f)` or `change(f)`. The argument may also be a field `u.f` of a
        neighbour.
        """
        if isinstance(arg, t.Member):
            store, index = env[arg.name], self._vertex(arg.value, rows, env)
        else:
            assert isinstance(arg, t.Name)
            assert rows.own is not None
            store, index = env[arg.name], rows.own
        assert isinstance(store, Store)
        frame, now = self.frames[-1], store.rows(index)
        if name == "change":
            sent = Store(store.type, Value(store.type, frame.sent[store])).rows(index)
            return ops.binary("-", now, sent, self.precision)
        old = Store(store.type, frame.old[store]).rows(index)
        return old if name == "old" else Value(BOOL, ops.differs(now.raw, old.raw))

    # ---- reductions

    def reduce(self, expr: t.Reduce, rows: Rows, env: Env) -> Value:
        """Evaluate a reduction: one value for each row (over edges), or one value for all rows (over vertices)."""
        if expr.keys:
            return self._picked(expr, rows, env)
        if expr.group is not None or expr.weight is not None:
            return self._grouped(expr, rows, env)
        expr, inner, group, over_vertices = self.reached(expr, rows, env)
        groups = 1 if over_vertices else rows.count or 0
        if expr.cond is not None:
            holds = definite(self.eval(expr.cond, inner, env), self.precision)
            inner, group = _keep(inner, group, np.broadcast_to(ops.truth(holds), len(group)))
        body = self.eval(expr.body, inner, env)
        result, counts = self._fold(expr, body, group, groups, env, over_vertices)
        if expr.default is not None:
            result = with_default(result, counts, self.eval(expr.default, rows, env))
        return take(result, np.array(0)) if over_vertices else result

    def reached(self, expr: t.Reduce, rows: Rows, env: Env) -> tuple[t.Reduce, Rows, Array, bool]:
        """Return the rows over which a reduction ranges.

        Returns: The reduction with the part of its condition that is not tested yet, the rows, the group of each row,
        and whether the whole graph is one group.
        """
        if expr.domain.kind == "common":
            return expr, *self._common(expr.domain, rows, env), False
        if expr.domain.kind == "group":
            return expr, self._groups[-1].edges, self._groups[-1].group, False
        if expr.domain.kind in ("in", "out", "both"):
            inner, group = self._edges(expr.domain, rows)
            if reads_change(expr, expr.domain.name):
                inner, group = _keep(inner, group, self.frames[-1].active[inner.members[expr.domain.name]])
            return expr, inner, group, False
        tests = list(_parts(expr.cond))
        here = [test for test in tests if _points(test, expr.domain.name)]
        if rows.own is None or len(here) != 1:
            return expr, *self._members(expr.domain, env), True
        inner, group = self._pairs(expr.domain, rows)
        inner, group = _keep(inner, group, ops.truth(self.eval(here[0], inner, env)))
        rest = None
        for test in tests:
            if test is not here[0]:
                rest = test if rest is None else t.Logical(expr.span, "and", rest, test)
        return replace(expr, cond=rest), inner, group, False

    def _grouped(self, expr: t.Reduce, rows: Rows, env: Env) -> Value:
        """Evaluate a grouped gather, or `mode` with weights."""
        _, inner, row, _ = self.reached(expr, rows, env)
        if expr.cond is not None:
            holds = definite(self.eval(expr.cond, inner, env), self.precision)
            inner, row = _keep(inner, row, np.broadcast_to(ops.truth(holds), len(row)))
        key = expr.body if expr.group is None else expr.group.key
        groups = groups_of(self.eval(key, inner, env), inner, row, self.precision)
        if expr.group is None:
            assert expr.weight is not None
            result, counts = weighted_mode(groups, self.eval(expr.weight, groups.edges, env), rows.count or 0,
                                           self.precision)
        else:
            assert rows.own is not None
            within = Rows(len(groups.row), rows.own[groups.row])
            named = env.new_child({expr.group.name: groups.keys})
            self._groups.append(groups)
            having = expr.group.cond
            kept = np.array(True) if having is None else ops.truth(self.eval(having, within, named))
            body, chosen = of_groups(groups, definite(self.eval(expr.body, within, named), self.precision), kept)
            self._groups.pop()
            result, counts = self._fold(expr, body, chosen, rows.count or 0, env, False)
        return result if expr.default is None else with_default(result, counts, self.eval(expr.default, rows, env))

    def _common(self, domain: t.Domain, rows: Rows, env: Env) -> tuple[Rows, Array]:
        """Return a new row for each common neighbour of the two vertices of a row, and the original row of each new
        row.
        """
        near: list[set[int]] = [set() for _ in range(self.graph.n)]
        for a, b in zip(self.graph.src.tolist(), self.graph.dst.tolist(), strict=True):
            if a != b:
                near[a].add(b)
                near[b].add(a)
        first, second = (self._vertex(end, rows, env).tolist() for end in domain.ends)
        pairs = enumerate(zip(first, second, strict=True))
        found = [(row, w) for row, (a, b) in pairs for w in sorted(near[a] & near[b])]
        at, third = (np.array([pair[k] for pair in found], np.int64) for k in (0, 1))
        members = {name: index[at] for name, index in rows.members.items()}
        assert rows.own is not None
        assert rows.edge is not None
        return Rows(len(at), rows.own[at], {**members, domain.name: third}, rows.edge[at], rows.undirected), at

    def _between(self, expr: t.Call, rows: Rows, env: Env) -> Value:
        """Return the sum of an edge field over the edges from one vertex to another, for each row."""
        graph, bound = self.graph, counter(1) if expr.name == "edges" else env[expr.name]
        if isinstance(bound, Column) and bound.rows is not None:
            return self._state_between(expr, rows, env)
        tails, tips = (self._vertex(end, rows, env).tolist() for end in expr.args)
        edges: dict[tuple[int, int], list[int]] = {}
        for number, pair in enumerate(zip(graph.src.tolist(), graph.dst.tolist(), strict=True)):
            if pair[0] != pair[1]:  # a self-loop is no edge between two vertices
                edges.setdefault(pair, []).append(number)
        found = [(row, e) for row, pair in enumerate(zip(tails, tips, strict=True)) for e in edges.get(pair, ())]
        at, edge = (np.array([pair[k] for pair in found], np.int64) for k in (0, 1))
        if isinstance(bound, Column):
            value = read(take(bound.value, edge), bound.type)
        else:
            assert isinstance(bound, Value)
            value = spread(definite(bound, self.precision), len(at))
        return reduce_groups("sum", value, at, rows.count or 0, False, self.precision)[0]

    def _state_between(self, expr: t.Call, rows: Rows, env: Env) -> Value:
        """Return an edge state at the edge from one vertex to another; the graph is simple, so there is one edge."""
        edges = {pair: e for e, pair in enumerate(zip(self.graph.src.tolist(), self.graph.dst.tolist(), strict=True))}
        tails, tips = (self._vertex(end, rows, env).tolist() for end in expr.args)
        found = np.array([edges[pair] for pair in zip(tails, tips, strict=True)], np.int64)
        return self._name(expr.name, replace(rows, edge=found), env)

    def _pairs(self, domain: t.Domain, rows: Rows) -> tuple[Rows, Array]:
        """Return a new row for each pair that consists of the vertex of a row and any vertex of the graph.

        The variable of the domain is the second vertex.
        """
        assert rows.own is not None
        n, count = self.graph.n, len(rows.own)
        others = np.tile(np.arange(n), count)
        return Rows(n * count, np.repeat(rows.own, n), {domain.name: others}), np.repeat(np.arange(count), n)

    def _fold(
        self, expr: t.Reduce, body: Value, group: Array, groups: int, env: Env, over_vertices: bool
    ) -> tuple[Value, Array]:
        if expr.name in self.reductions:
            reduction = self.reductions[expr.name]
            type_ = self._reduction_type(reduction)
            wide = widest(type_) if computes(reduction.value) else type_
            start = spread(convert(self.eval(reduction.identity, GRAPH_LEVEL, env), wide), groups)
            contributions = spread(convert(convert(body, type_), wide), len(group))
            folded = fold(lambda a, b: self._joined(reduction, wide, a, b, env), start, contributions, group)
            return narrowed(folded, type_), np.bincount(group, minlength=groups)
        if expr.name not in BUILT_IN:
            raise TypeError(f"unknown reduction {expr.name}")
        folded, counts = reduce_groups(expr.name, body, group, groups, over_vertices, self.precision)
        return folded, counts

    def _members(self, domain: t.Domain, env: Env) -> tuple[Rows, Array]:
        if domain.set_name is None:
            vertices = np.arange(self.graph.n)
        else:
            chosen = env[domain.set_name]
            assert isinstance(chosen, Value)
            vertices = chosen.raw
        return Rows(len(vertices), None, {domain.name: vertices}), np.zeros(len(vertices), np.int64)

    def _edges(self, domain: t.Domain, rows: Rows) -> tuple[Rows, Array]:
        """Return a new row for each edge end of the vertex of each row. New rows are in the order of the stored edges.
        """
        graph = self.graph
        assert rows.own is not None
        place = np.full(graph.n, -1)
        place[rows.own] = np.arange(len(rows.own))
        own, other, edge = graph.dst, graph.src, np.arange(graph.m)
        if domain.kind == "out":
            own, other = other, own
        elif domain.kind == "both" and graph.directed:
            own, other = np.concatenate([own, other]), np.concatenate([other, own])
            edge = np.concatenate([edge, edge])
        keep = np.flatnonzero(place[own] >= 0)
        inner = Rows(len(keep), own[keep], {domain.name: other[keep]}, edge[keep], domain.kind == "both")
        return inner, place[own[keep]]


def _parts(cond: t.Expr | None) -> Iterator[t.Expr]:
    """Yield the operands of the `and`s of a condition."""
    if isinstance(cond, t.Logical) and cond.op == "and":
        yield from _parts(cond.left)
        yield from _parts(cond.right)
    elif cond is not None:
        yield cond


def _points(test: t.Expr, name: str) -> bool:
    """Return whether a condition is `v.f == self` or `self == v.f`."""
    if not (isinstance(test, t.Compare) and test.op == "=="):
        return False
    sides = [test.left, test.right]
    return any(isinstance(s, t.Self) for s in sides) and any(_is_member(s, name) for s in sides)


def _keep(rows: Rows, group: Array, holds: Array) -> tuple[Rows, Array]:
    """Return the rows for which `holds` is true, and their groups."""
    kept = np.flatnonzero(holds)

    def pick(part: Array | None) -> Array | None:
        return None if part is None else part[kept]

    members = {name: index[kept] for name, index in rows.members.items()}
    return Rows(len(kept), pick(rows.own), members, pick(rows.edge), rows.undirected), group[kept]

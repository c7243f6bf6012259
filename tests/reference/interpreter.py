"""The reference interpreter, which is plain and slow, and defines the meaning of programs (language.md sections 4, 5
and 9).

The interpreter works on the syntax tree and shares only the tree and the types with the compiler. Names, levels and
types are resolved at run time. Where language.md leaves a choice, `operators` and `run` document the behaviour of the
interpreter.
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Mapping
from typing import Any

import numpy as np

from tests.reference import operators as ops
from tests.reference.constants import sized
from tests.reference.evaluate import Evaluator, reads_change, walk, walk_superstep
from tests.reference.graph import RefGraph
from tests.reference.outcome import LoopRun, Outcome
from tests.reference.reductions import put
from tests.reference.state import GRAPH_LEVEL, Column, Env, Frame, Rows, Store, as_input, read, zeros
from tests.reference.values import Array, Value, convert, counter, declared, definite, item, spread
from vlang.errors import BindError
from vlang.syntax import tree as t
from vlang.times import UNITS
from vlang.types import CATEGORY, I64, VERTEX, VERTICES, Matrix, Scalar, Tuple, Type, Vector

__all__ = ["LoopRun", "Outcome", "RefGraph", "run"]

def run(
    file: t.File,
    graph: RefGraph,
    params: Mapping[str, Any],
    fields: Mapping[str, Any] | None = None,
    edges: Mapping[str, Any] | None = None,
    max_rounds: int | None = None,
    precision: int = 32,
) -> Outcome:
    """Run a program.

    Args:
        file: The syntax tree.
        graph: The graph.
        params: Numbers, dense vertices, or lists of dense vertices, by name.
        fields: Input fields and warm starts, [n] arrays.
        edges: Edge columns that extend or replace the columns of the graph; one value per stored edge.
        max_rounds: The largest number of rounds that one execution of a loop may take.
        precision: Bits of `int` and `float`.

    Raises:
        BindError: An input is missing, or a `require` does not hold.
        TypeError: The text is not a correct program.
    """
    with np.errstate(all="ignore"):
        file, constants = sized(file, params)
        machine = _Machine(file, graph, precision, max_rounds, dict(fields or {}))
        machine.bind(params, {**graph.columns, **(edges or {})}, constants)
        return machine.run()


def _loopless(graph: RefGraph) -> bool:
    return not (graph.src == graph.dst).any()


def _simple(graph: RefGraph) -> bool:
    pairs = list(zip(graph.src.tolist(), graph.dst.tolist(), strict=True))
    return _loopless(graph) and len(set(pairs)) == len(pairs)


_NEEDS = {"undirected": lambda graph: not graph.directed, "simple": _simple, "loopless": _loopless}


class _Machine:
    """The machine that executes statements. The sent values of fields are 0 at the start of every loop."""

    def __init__(
        self, file: t.File, graph: RefGraph, precision: int, max_rounds: int | None, inputs: dict[str, Any]
    ) -> None:
        self.file, self.graph, self.precision, self.max_rounds, self.inputs = file, graph, precision, max_rounds, inputs
        self.evaluator = Evaluator(file, graph, precision)
        self.env: Env = ChainMap()
        self.all = np.arange(graph.n)
        self.depth = 0
        self.outcome = Outcome({}, {}, [])

    # ---- binding

    def bind(self, params: Mapping[str, Any], columns: Mapping[str, Any],
             constants: Mapping[str, int] | None = None) -> None:
        """Bind parameters, edge fields, input fields and constants, then test the contracts."""
        self.env.update({name: counter(value) for name, value in (constants or {}).items()})
        texts = {node.value for node in walk(self.file) if isinstance(node, t.Literal) and isinstance(node.value, str)}
        given = {**columns, **self.inputs, **params}
        texts |= {text for name in self._categories() & given.keys()
                  for text in np.asarray(given[name], object).reshape(-1).tolist() if isinstance(text, str)}
        self.evaluator.names = sorted(texts)
        for param in self.file.params:
            self.env[param.name] = self._parameter(param, params)
        for item_ in self.file.items:
            if isinstance(item_, t.EdgeField):
                for name in item_.names:
                    self.env[name] = self._column(name, item_, columns)
            elif isinstance(item_, t.VertexField):
                for name in set(item_.names) & set(self.inputs):
                    self.env[name] = self._input(name, declared(item_.type, self.precision))
        for item_ in self.file.items:
            if isinstance(item_, t.Contract) and not self._later(item_):
                self._require(item_)

    def _categories(self) -> set[str]:
        """Return the parameters, edge fields and vertex fields whose values are names; a time may be given as text."""
        found = {param.name for param in self.file.params
                 if param.type is None or declared(param.type, self.precision) == CATEGORY}
        return found | {name for one in self.file.items if isinstance(one, t.EdgeField | t.VertexField)
                        and declared(one.type, self.precision) == CATEGORY for name in one.names}

    def _later(self, contract: t.Contract) -> bool:
        """Return whether a contract depends on values that the program computes. A contract on computed values is
        tested at its place in the text.
        """
        made = {one.name for one in self.file.items if isinstance(one, t.Let | t.GlobalValue)}
        return any(isinstance(node, t.Name) and node.name in made for node in walk(contract.cond))

    def _parameter(self, param: t.Param, params: Mapping[str, Any]) -> Value:
        default = None
        if param.default is not None:
            default = self.evaluator.eval(param.default, GRAPH_LEVEL, self.env)
        if param.type is not None:
            type_ = declared(param.type, self.precision)
        else:  # the checker requires a type or a default
            assert default is not None
            type_ = definite(default, self.precision).type
        if param.name not in params:
            if default is None:
                raise BindError(f"parameter {param.name} has no value")
            return read(convert(default, type_), type_)
        given = params[param.name]
        if type_ == VERTICES:
            return Value(VERTICES, np.asarray(given, np.int64).reshape(-1))
        if isinstance(type_, Matrix):
            row = Vector(type_.item, type_.columns)
            return read(Value(type_, tuple(Value(row, as_input(part, row)) for part in given)), type_)
        return read(Value(type_, as_input(-1 if given is None else self._plain(given, type_), type_)), type_)

    def _plain(self, given: Any, type_: Type) -> Any:
        """Return names as their positions among all names, and times as numbers of their unit."""
        if type_ == CATEGORY:
            array = np.asarray(given, object)
            return np.array([self.evaluator.names.index(text) for text in array.reshape(-1)]).reshape(array.shape)
        if isinstance(type_, Scalar) and type_.kind == "time" and np.asarray(given).dtype.kind in "UOM":
            return np.asarray(given, f"M8[{UNITS[type_.name]}]").astype(np.int64)
        return given

    def _shown(self, values: Array, type_: Type) -> Array:
        """Return values in the form of results: names as texts, times as datetime64, with NaT for infinite times."""
        if type_ == CATEGORY:
            return np.array(self.evaluator.names, object)[values]
        if isinstance(type_, Scalar) and type_.kind == "time":
            return np.where(values == type_.highest, type_.lowest, values).astype(f"M8[{UNITS[type_.name]}]")
        return values

    def _column(self, name: str, decl: t.EdgeField, columns: Mapping[str, Any]) -> Column:
        type_ = declared(decl.type, self.precision)
        if name in columns:
            return Column(type_, Value(type_, as_input(self._plain(columns[name], type_), type_)))
        if decl.init is None:
            raise BindError(f"the graph has no edge column {name}")
        value = self.evaluator.eval(decl.init, GRAPH_LEVEL, self.env)
        return Column(type_, spread(convert(value, type_), self.graph.m))

    def _input(self, name: str, type_: Type) -> Store:
        shape = (self.graph.n, type_.size) if isinstance(type_, Vector) else (self.graph.n,)
        data = as_input(self._plain(self.inputs[name], type_), type_)
        return Store(type_, Value(type_, np.array(np.broadcast_to(data, shape))))

    def _require(self, contract: t.Contract) -> None:
        known = {*self.env, *(p.name for p in self.file.params)}
        if isinstance(contract.cond, t.Name) and contract.cond.name in _NEEDS and contract.cond.name not in known:
            if not _NEEDS[contract.cond.name](self.graph):
                raise BindError(f"line {contract.span.line}: the graph is not {contract.cond.name}")
            return
        names = {node.name for node in walk(contract.cond) if isinstance(node, t.Name)}
        bound = [self.env[name] for name in names if name in self.env]
        rows = GRAPH_LEVEL
        if any(isinstance(b, Column) for b in bound):
            rows = Rows(self.graph.m, self.graph.dst, {}, np.arange(self.graph.m))
        elif any(isinstance(b, Store) for b in bound):
            rows = Rows(self.graph.n, self.all)
        if not ops.truth(self.evaluator.eval(contract.cond, rows, self.env)).all():
            span = contract.span
            raise BindError(f"line {span.line}: {self.file.text[span.start:span.end]} does not hold")

    # ---- statements

    def run(self) -> Outcome:
        """Execute the file from top to bottom and collect the outputs."""
        outputs: dict[str, Store] = {}
        states: dict[str, Any] = {}
        for statement in self.file.items:
            if isinstance(statement, t.Contract) and self._later(statement):
                self._require(statement)
                continue
            self.execute(statement, self.all, self.env)
            if isinstance(statement, t.VertexField):
                for name in statement.names:
                    store = self.env[name]
                    assert isinstance(store, Store)
                    outputs[name] = store
            elif isinstance(statement, t.EdgeState):
                states.update((name, self.env[name]) for name in statement.names)
            elif isinstance(statement, t.GlobalValue):
                value = self.env[statement.name]
                assert isinstance(value, Value)
                self.outcome.globals[statement.name] = self._shown(value.raw, value.type)[()]
        self.outcome.fields = {name: self._shown(store.value.raw, store.type) for name, store in outputs.items()}
        self.outcome.edges = {name: column.value.raw for name, column in states.items()}
        return self.outcome

    def block(self, block: t.Block, selected: Array, env: Env) -> Env:
        """Run the statements of a block for the selected vertices; return the names at its end."""
        inner = env.new_child()
        for statement in block.items:
            self.execute(statement, selected, inner)
        return inner

    def execute(self, statement: t.Statement, selected: Array, env: Env) -> None:
        """Run one statement for the selected vertices."""
        match statement:
            case t.VertexField():
                self._field(statement, env)
            case t.GlobalValue():
                value = self.evaluator.eval(statement.value, GRAPH_LEVEL, env)
                type_ = declared(statement.type, self.precision) if statement.type else value.type
                env[statement.name] = definite(convert(value, type_), self.precision)
            case t.Let():
                env[statement.name] = definite(self.evaluator.eval(statement.value, GRAPH_LEVEL, env), self.precision)
            case t.EdgeState():
                self._edge_state(statement, env)
            case t.Gather():
                self._gather(statement, selected, env)
            case t.Apply(domain=t.Domain() as domain):
                self._apply_edges(statement, domain, selected, env)
            case t.Apply():
                self._apply(statement, selected, env)
            case t.Where():
                holds = self._truth(statement.cond, selected, env)
                self.block(statement.block, selected[holds], env)
            case t.Repeat():
                self._repeat(statement, selected, env)
            case t.Sweep():
                self._sweep(statement, selected, env)
            case t.ForVertices():
                self._for_vertices(statement, selected, env)
            case t.ForRange():
                self._for_range(statement, selected, env)
            case _:  # the others are already bound, and the loop handles `activate when`
                pass

    def _rows(self, selected: Array) -> Rows:
        return Rows(len(selected), selected)

    def _truth(self, cond: t.Expr, selected: Array, env: Env) -> Array:
        value = ops.truth(self.evaluator.eval(cond, self._rows(selected), env))
        return np.broadcast_to(value, len(selected))

    def _holds(self, cond: t.Expr, env: Env) -> bool:
        return bool(ops.truth(self.evaluator.eval(cond, GRAPH_LEVEL, env)))

    def _integer(self, expr: t.Expr, env: Env) -> int:
        return int(definite(self.evaluator.eval(expr, GRAPH_LEVEL, env), 64).raw)

    def _field(self, statement: t.VertexField, env: Env) -> None:
        type_ = declared(statement.type, self.precision)
        for name in statement.names:
            if env is self.env and name in self.inputs:
                continue  # already bound
            if statement.init is None:
                raise BindError(f"field {name} needs an array")
            value = self.evaluator.eval(statement.init, self._rows(self.all), env)
            store = Store(type_, spread(convert(value, type_), self.graph.n))
            env[name] = store
            for frame in self.evaluator.frames:
                _note(frame, store)

    def _gather(self, statement: t.Gather, selected: Array, env: Env) -> None:
        assert isinstance(statement.value, t.Reduce)
        value = self.evaluator.eval(statement.value, self._rows(selected), env)
        env[statement.name] = Store(value.type, put(zeros(value.type, self.graph.n), selected, value))

    def _apply(self, statement: t.Apply, selected: Array, env: Env) -> None:
        rows = self._rows(selected)
        stores = [env[name] for name in statement.target.names]
        value = self.evaluator.eval(statement.value, rows, env)
        if statement.op != "=":
            before = self.evaluator.eval(t.Name(statement.span, statement.target.names[0]), rows, env)
            value = ops.binary(statement.op[:-1], before, value, self.precision)
        parts = value.parts if statement.target.many else (value,)
        for store, part in zip(stores, parts, strict=True):
            assert isinstance(store, Store)
            store.value = put(store.value, selected, spread(convert(part, store.type), len(selected)))

    def _edge_state(self, statement: t.EdgeState, env: Env) -> None:
        """Give every edge its start value; `self` is the head of the edge."""
        type_ = declared(statement.type, self.precision)
        rows = Rows(self.graph.m, self.graph.dst, {}, np.arange(self.graph.m))
        assert statement.init is not None
        for name in statement.names:
            value = spread(convert(self.evaluator.eval(statement.init, rows, env), type_), self.graph.m)
            counts = Store(I64, zeros(I64, self.graph.n))
            env[name], env[f"rows of {name}"] = Column(type_, value, counts), counts

    def _apply_edges(self, statement: t.Apply, domain: t.Domain, selected: Array, env: Env) -> None:
        """Write the values of all in-edges of the selected vertices at once, from the values before the statement."""
        column = env[statement.target.names[0]]
        assert isinstance(column, Column)
        assert column.rows is not None
        at = np.flatnonzero(np.isin(self.graph.dst, selected))
        rows = Rows(len(at), self.graph.dst[at], {domain.name: self.graph.src[at]}, at)
        value = self.evaluator.eval(statement.value, rows, env)
        if statement.op != "=":
            before = self.evaluator.eval(t.Name(statement.span, statement.target.names[0]), rows, env)
            value = ops.binary(statement.op[:-1], before, value, self.precision)
        new, old = spread(convert(value, column.type), len(at)).raw, column.value.raw[at]
        if statement.cond is not None:
            new = np.where(ops.truth(self.evaluator.eval(statement.cond, rows, env)), new, old)
        after = column.value.raw.copy()
        after[at] = new
        column.value = Value(column.type, after)
        counts = column.rows.value.raw.copy()
        counts[np.unique(rows.own[ops.differs(new, old)] if rows.own is not None else at[:0])] += 1
        column.rows.value = Value(I64, counts)

    def _sweep(self, statement: t.Sweep, selected: Array, env: Env) -> None:
        store = env[statement.field]
        assert isinstance(store, Store)
        levels, scalar = store.value.raw[selected], item(store.type)
        finite = np.unique(levels[(levels != scalar.highest) & (levels != scalar.lowest)]
                           if scalar.kind == "int" else levels)
        for level in finite if statement.up else finite[::-1]:
            self.block(statement.block, selected[levels == level], env)

    def _for_vertices(self, statement: t.ForVertices, selected: Array, env: Env) -> None:
        group = env.get(statement.set_name)
        self.depth += 1
        for vertex in group.raw if isinstance(group, Value) else self.all:
            inner = env.new_child({statement.name: Value(VERTEX, np.array(vertex))})
            self.block(statement.block, selected, inner)
        self.depth -= 1

    def _for_range(self, statement: t.ForRange, selected: Array, env: Env) -> None:
        low, high = self._integer(statement.low, env), self._integer(statement.high, env)
        record = self._record(statement)
        while not record.reason:
            if low + record.rounds > high:
                record.reason = "limit" if statement.until is not None and record.rounds else "count"
            elif self.max_rounds is not None and record.rounds >= self.max_rounds:
                record.reason = "max_rounds"
            else:
                inner = env.new_child({statement.name: counter(low + record.rounds, counts=True)})
                record.rounds += 1
                record.active.append(self.graph.n)
                self.block(statement.block, selected, inner)
                if statement.until is not None and self._holds(statement.until, inner):
                    record.reason = "until"
        self.depth -= 1

    # ---- loops

    def _repeat(self, loop: t.Repeat, selected: Array, env: Env) -> None:
        record = self._record(loop)
        limit = self._integer(loop.limit.count, env) if loop.limit else None
        frame = Frame(0, {}, {}, np.ones(self.graph.n, np.bool_))
        stores = [b for b in env.values() if isinstance(b, Store)]
        for store in stores:
            _note(frame, store)
        self.evaluator.frames.append(frame)
        while not record.reason:
            if limit is not None and record.rounds >= limit:
                record.reason = _limit_reason(loop)
            elif self.max_rounds is not None and record.rounds >= self.max_rounds:
                record.reason = "max_rounds"
            else:
                self._superstep(loop, frame, stores, selected, env, record)
        self.depth -= 1
        self.evaluator.frames.pop()

    def _record(self, loop: t.Repeat | t.ForRange) -> LoopRun:
        """Record the start of a loop whose rounds are counted."""
        record = LoopRun(loop.span.line, self.depth)
        self.outcome.loops.append(record)
        self.depth += 1
        return record

    def _superstep(
        self, loop: t.Repeat, frame: Frame, stores: list[Store], selected: Array, env: Env, record: LoopRun
    ) -> None:
        record.rounds += 1
        record.active.append(int(frame.active.sum()))
        frame.iteration = record.rounds
        frame.old = {store: store.value for store in stores if not isinstance(store.type, Tuple)}
        frame.sent = {store: sent for store, sent in frame.sent.items() if store in frame.old}
        inner = self.block(loop.block, selected, env)
        for store in list(frame.sent):
            sent = frame.sent[store].copy()
            sent[frame.active] = frame.old[store].raw[frame.active]
            frame.sent[store] = sent
        frame.active = self._activity(loop, frame, stores, selected, inner)
        record.reason = self._end(loop, frame, stores, env, record.rounds)

    def _activity(self, loop: t.Repeat, frame: Frame, stores: list[Store], selected: Array, env: Env) -> Array:
        """Return the vertices that are active after a superstep (language.md 4.4)."""
        last = loop.block.items[-1] if loop.block.items else None
        active = np.zeros(self.graph.n, np.bool_)
        if isinstance(last, t.Activate):
            active[selected] = self._truth(last.cond, selected, env)
            return active
        delta = any(isinstance(node, t.Gather) and reads_change(node) for node in walk(loop.block))
        for store in stores:
            if store in frame.old:
                before = frame.sent[store] if delta and store in frame.sent else frame.old[store].raw
                active |= ops.differs(store.value.raw, before)
        return active

    def _end(self, loop: t.Repeat, frame: Frame, stores: list[Store], env: Env, rounds: int) -> str:
        """Return the reason why the loop ends after this superstep; "" if it continues (language.md 4.6)."""
        if loop.until is not None:
            if self._holds(loop.until, env):
                return "until"
            return "stalled" if self._stalled(loop, frame, stores, env) else ""
        if loop.limit is not None and loop.limit.exact:
            return ""
        return "" if frame.active.any() else "inactive"

    def _stalled(self, loop: t.Repeat, frame: Frame, stores: list[Store], env: Env) -> bool:
        """Return whether later supersteps would all be the same. Later supersteps are the same if nothing changed, no
        change is unsent, and the loop does not read `iteration`.
        """
        own = walk_superstep((loop.block, loop.until))
        if any(isinstance(node, t.Name) and node.name == "iteration" for node in own):
            return False
        same = not any(ops.differs(s.value.raw, frame.old[s].raw).any() for s in stores if s in frame.old)
        watched = {node.args[0] for node in walk(loop) if isinstance(node, t.Call) and node.name == "change"}
        names = {arg.name for arg in watched if isinstance(arg, (t.Name, t.Member))}
        sent = [s for name, s in env.items() if name in names and isinstance(s, Store) and s in frame.sent]
        return same and not any(ops.differs(s.value.raw, frame.sent[s]).any() for s in sent)


def _limit_reason(loop: t.Repeat) -> str:
    assert loop.limit is not None
    return "count" if loop.limit.exact and loop.until is None else "limit"


def _note(frame: Frame, store: Store) -> None:
    """Begin to record the old value and the sent value of a field."""
    if isinstance(store.type, Tuple):
        return
    frame.old[store] = store.value
    if item(store.type).numeric:
        frame.sent[store] = np.zeros_like(store.value.raw)

"""Finds loops that cannot work in the way they are written, and gathers without effect (V201 to V204; language.md
sections 9 and 15).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from vlang.check.tables.checked import Symbol
from vlang.check.tables.checking import Run
from vlang.check.tables.typing import item
from vlang.maths import REAL
from vlang.records import dataclass
from vlang.reductions import REDUCTIONS, ReductionRule, operator_of
from vlang.syntax import rewrite
from vlang.syntax import tree as t
from vlang.syntax.codes import Code
from vlang.types import Vector

__all__ = ["judge_gathers", "judge_loops"]

_FORGETS = {"any": "or", "all": "and", "bitor": "|", "bitand": "&"}


@dataclass(frozen=True)
class _Write:
    """One `apply` in a loop.

    Attributes:
        gated: whether some supersteps may skip the `apply`, because of an inner loop or a `where` with a condition on
            fields of the loop.
    """

    node: t.Apply
    fields: tuple[Symbol, ...]
    gated: bool


class _Loop:
    """A `repeat` and its writes.

    Attributes:
        moving: the fields that the loop writes or declares.
        lasting: the fields that the loop writes and that are declared outside of the loop.
        writes: every `apply` in the loop.
    """

    def __init__(self, run: Run, node: t.Repeat) -> None:
        self.run, self.node = run, node
        own = {s for part in rewrite.inside(node.block) if isinstance(part, t.VertexField)
               for s in run.declared.get(part, ())}
        applies = [p for p in rewrite.inside(node.block) if isinstance(p, t.Apply)]
        self.moving = {s for p in applies for s in run.targets[p.target]} | own
        self.lasting = self.moving - own
        self.writes = list(self._writes(node.block, False))

    def _writes(self, block: t.Block, gated: bool) -> Iterator[_Write]:
        for part in block.items:
            if isinstance(part, t.Apply):
                yield _Write(part, self.run.targets[part.target], gated)
            elif isinstance(part, t.Where):
                yield from self._writes(part.block, gated or bool(self.reads(part.cond)))
            elif isinstance(part, (t.Repeat, t.Sweep, t.ForVertices, t.ForRange)):
                yield from self._writes(part.block, True)

    def parts(self, node: t.Node) -> Iterator[t.Node]:
        """The nodes of an expression; accumulators and `let` names are replaced by their values."""
        for part in rewrite.inside(node):
            yield part
            symbol = self.run.symbols.get(part) if isinstance(part, t.Name) else None
            if symbol is not None and isinstance(symbol.decl, (t.Gather, t.Let)):
                yield from self.parts(symbol.decl.value)

    def reads(self, node: t.Node) -> set[Symbol]:
        """The fields that an expression reads and that the loop writes or declares."""
        found = (self.run.symbols.get(p) for p in self.parts(node) if isinstance(p, (t.Name, t.Member)))
        return {s for s in found if s is not None and s in self.moving}

    @property
    def activate(self) -> t.Activate | None:
        last = self.node.block.items[-1]
        return last if isinstance(last, t.Activate) else None

    @property
    def fixpoint(self) -> bool:
        """Whether the loop runs until no field changes: it has no limit, no `until` and the default activation."""
        if self.node.limit is not None or self.node.until is not None:
            return False
        return self.activate is None or self._default(self.activate.cond) >= self.lasting

    def _default(self, cond: t.Expr) -> set[Symbol]:
        """Return the fields that a condition tests for any change; empty if the condition also tests something else."""
        if isinstance(cond, t.Logical) and cond.op == "or":
            left, right = self._default(cond.left), self._default(cond.right)
            return left | right if left and right else set()
        if isinstance(cond, t.Call) and cond.name == "changed":
            return self._named(cond.args[0])
        if isinstance(cond, t.Compare) and cond.op in ("!=", "<", ">"):
            for now, past in ((cond.left, cond.right), (cond.right, cond.left)):
                if isinstance(past, t.Call) and past.name == "old" and self._named(now) == self._named(past.args[0]):
                    return self._named(now)
        return set()

    def _named(self, node: t.Expr) -> set[Symbol]:
        symbol = self.run.symbols.get(node) if isinstance(node, t.Name) else None
        return {symbol} if symbol is not None else set()


def judge_loops(run: Run) -> None:
    """Report V201 for loops that add the same value forever, and V202 for floats that may never converge."""
    for node in rewrite.inside(run.file):
        if isinstance(node, t.Repeat):
            loop = _Loop(run, node)
            if loop.fixpoint and not _repeats(loop):
                _creeps(loop)


# -------------------------------------------------------------------- repeating


def _repeats(loop: _Loop) -> bool:
    """Report each `x += e` in which e is constant in the loop, or is a sum of whole values of x instead of changes of
    x.

    Returns whether it has reported a write.
    """
    found = False
    for write in loop.writes:
        added = _added(loop, write)
        if added is None or write.gated or write.fields[0] not in loop.lasting:
            continue
        kind = _linear(loop, added, write.fields[0])
        if kind is not None:
            found = True
            _never_converges(loop, write, added, kind)
    return found


def _added(loop: _Loop, write: _Write) -> t.Expr | None:
    """The expression e of a write `x += e`, `x -= e`, `x = x + e`, `x = e + x` or `x = x - e`; otherwise None."""
    node, symbols = write.node, loop.run.symbols
    if len(write.fields) != 1:
        return None
    if node.op in ("+=", "-="):
        return node.value
    if node.op == "=" and isinstance(node.value, t.Binary) and node.value.op in ("+", "-"):
        left, right = node.value.left, node.value.right
        if symbols.get(left) is write.fields[0]:
            return right
        if symbols.get(right) is write.fields[0] and node.value.op == "+":
            return left
    return None


def _linear(loop: _Loop, node: t.Expr, x: Symbol) -> str | None:
    """How an expression depends on the fields that the loop writes: "constant", "linear" or None.

    "constant": the expression depends on none of these fields. "linear": the expression is linear in the x of
    neighbours, and depends on no other field that the loop writes. The result is None for any other expression.
    """
    run = loop.run
    symbol = run.symbols.get(node) if isinstance(node, (t.Name, t.Member)) else None
    if isinstance(node, t.Name) and symbol is not None and isinstance(symbol.decl, (t.Gather, t.Let)):
        return _linear(loop, symbol.decl.value, x)
    if isinstance(node, t.Reduce) and node.group is None and node.weight is None:
        cond = node.cond is None or _linear(loop, node.cond, x) == "constant"
        default = node.default is None or _linear(loop, node.default, x) == "constant"
        body = _linear(loop, node.body, x) if cond and default else None
        return body if body == "constant" or operator_of(node.name) == "+" else None
    if isinstance(node, t.Member) and symbol is x:
        owner = run.symbols.get(node.value)
        return "linear" if owner is not None and owner.kind == "neighbour" else None
    if isinstance(node, t.Binary):
        return _product(node.op, _linear(loop, node.left, x), _linear(loop, node.right, x))
    if isinstance(node, t.Unary) and node.op == "-":
        return _linear(loop, node.value, x)
    timed = any(isinstance(p, t.Call) and p.name in ("old", "change", "changed") for p in loop.parts(node))
    counted = any(isinstance(p, t.Name) and p.name == "iteration" for p in loop.parts(node))
    return None if timed or counted or loop.reads(node) else "constant"


def _product(op: str, left: str | None, right: str | None) -> str | None:
    if left is None or right is None:
        return None
    if left == right == "constant":
        return "constant"
    if left == right:
        return "linear" if op == "+" else None
    if op == "*" or (op == "/" and right == "constant"):
        return "linear"
    return None


def _never_converges(loop: _Loop, write: _Write, added: t.Expr, kind: str) -> None:
    run, node = loop.run, write.node
    symbols = [run.symbols.get(p) for p in rewrite.inside(added) if isinstance(p, t.Name)]
    gathers = [s.decl for s in symbols if s is not None and isinstance(s.decl, t.Gather)]
    gather = gathers[0] if gathers else None
    what = gather.name if gather is not None else rewrite.short(run.text(added))
    sign = node.op if node.op != "=" else f"{node.target.names[0]} {'-' if _minus(node) else '+'} ..."
    help_ = "run a fixed number of supersteps (`repeat 10 times:`), or recompute with `=`."
    notes: tuple[tuple[t.Span, str], ...] = ()
    write_: tuple[str, ...] = ()
    if gather is not None and kind == "linear":
        help_ = "gather only what is new, or " + help_
        notes = ((gather.span, "gathered from whole values, not from changes"),)
        if gather.span.start < node.span.start:
            write_ = (_from_changes(run, gather, write.fields[0]),)
    elif gather is not None:
        notes = ((gather.span, "the same in every superstep"),)
    verb = "subtracts" if node.op == "-=" or (node.op == "=" and _minus(node)) else "adds"
    run.report(Code.ENDLESS_LOOP, f"this loop never converges: every superstep {verb} the same `{what}` again",
               node.span, f"`{sign}` repeats its contribution", notes=notes, help=help_, write=write_,
               replaces=gather.span if gather is not None and write_ else None)


def _minus(node: t.Apply) -> bool:
    return isinstance(node.value, t.Binary) and node.value.op == "-"


def _from_changes(run: Run, gather: t.Gather, x: Symbol) -> str:
    edits = [(p.span, f"change({run.text(p)})") for p in rewrite.inside(gather.value)
             if isinstance(p, t.Member) and run.symbols.get(p) is x]
    return rewrite.edited(run.file.text, gather.span, edits)


# --------------------------------------------------------------------- creeping


def _creeps(loop: _Loop) -> None:
    """Report a float field that is computed from its own old value with rounding, if the loop ends when no bit changes
    (V202).
    """
    run = loop.run
    creeping = [w for w in loop.writes if not w.gated and _rounds(loop, w) and not _forgotten(run, w.node)]
    if not creeping:
        return
    fields = list(dict.fromkeys(s for w in creeping for s in w.fields if _floating(s) and s in loop.lasting))
    first = next(s for s in creeping[0].fields if s in fields)
    tests = [f"max(abs(change({s.name})))" if isinstance(s.type, Vector) else f"abs(change({s.name}))" for s in fields]
    write = "activate when " + " or ".join(f"{test} > 1e-6" for test in tests)
    end = loop.node.block.items[-1].span
    place = end if loop.activate is not None else t.Span(end.end, end.end, end.line, end.column)
    run.report(Code.CREEPING_FLOAT, f"`{first.name}` is a float that is recomputed: it may creep forever",
               creeping[0].node.span,
               "compared bit by bit", notes=((loop.node.head, "`repeat` runs until nothing changes"),),
               help="say how much change matters, as the last line of the superstep:", write=write, replaces=place)


def _floating(symbol: Symbol) -> bool:
    scalar = item(symbol.type) if symbol.type is not None else None
    return scalar is not None and scalar.floating


def _rounds(loop: _Loop, write: _Write) -> bool:
    targets = {s for s in write.fields if s in loop.lasting and _floating(s)}
    if not targets or _joins(loop, write) or not targets & _depends(loop, write):
        return False
    parts = list(loop.parts(write.node.value))
    if any(isinstance(p, t.Call) and p.name == "change" for p in parts):
        return False
    return write.node.op != "=" or any(_rounding(loop.run, p) for p in parts)


def _rounding(run: Run, node: t.Node) -> bool:
    if isinstance(node, t.Reduce):
        rule = REDUCTIONS.get(node.name)
        return rule is None or not rule.exact
    smooth = isinstance(node, t.Call) and node.name in REAL | {"pow", "dot", "sum"}
    return smooth or (isinstance(node, t.Binary) and node.op in ("+", "-", "*", "/", "**"))


def _joins(loop: _Loop, write: _Write) -> bool:
    """Return whether a write joins a value with the old value by min, max or a declared reduction.

    A joining write changes the field in one direction only.
    """
    value = write.node.value
    if write.node.op != "=" or not isinstance(value, t.Call):
        return False
    symbol = loop.run.symbols.get(value)
    if value.name not in ("min", "max") and (symbol is None or symbol.kind != "reduction"):
        return False
    for arg in value.args:
        parts = arg.items if isinstance(arg, t.TupleExpr) else (arg,)
        if tuple(loop.run.symbols.get(p) for p in parts) == write.fields:
            return True
    return False


def _depends(loop: _Loop, write: _Write) -> set[Symbol]:
    """Return the fields on which a write depends, directly or through other writes of the loop."""
    sources: dict[Symbol, set[Symbol]] = {}
    for other in loop.writes:
        read = loop.reads(other.node.value) | (set(other.fields) if other.node.op != "=" else set())
        for symbol in other.fields:
            sources.setdefault(symbol, set()).update(read)
    todo = list(loop.reads(write.node.value) | (set(write.fields) if write.node.op != "=" else set()))
    seen: set[Symbol] = set()
    while todo:
        symbol = todo.pop()
        if symbol not in seen:
            seen.add(symbol)
            todo.extend(sources.get(symbol, ()))
    return seen


# ----------------------------------------------------------------- lost gathers


def judge_gathers(run: Run) -> None:
    """Report V203 for accumulators that no statement reads, and V204 for writes that discard the old value."""
    used = {s for n, s in run.symbols.items() if isinstance(n, t.Name)}
    for node in rewrite.inside(run.file):
        if isinstance(node, t.Gather) and not used & set(run.declared[node]):
            run.report(Code.UNUSED_GATHER, f"`{node.name}` is never used: a pass over the edges for nothing", node.span,
                       "gathered here", help="apply it to a field, or leave it out")
        elif isinstance(node, t.Repeat):
            for part in rewrite.inside(node.block):
                if isinstance(part, t.Apply):
                    _forgets(run, part)


def _forgotten(run: Run, node: t.Apply) -> tuple[t.Gather, ReductionRule] | None:
    """Return the gather of `apply x = acc`, and its reduction, if acc is an idempotent reduction over the values x of
    neighbours.
    """
    accumulator = run.symbols.get(node.value) if isinstance(node.value, t.Name) else None
    gather = accumulator.decl if accumulator is not None else None
    if node.op != "=" or not isinstance(gather, t.Gather) or not isinstance(gather.value, t.Reduce):
        return None
    rule = REDUCTIONS.get(gather.value.name)
    read = _read_of_neighbour(run, rewrite.inside(gather.value.body), run.targets[node.target])
    return (gather, rule) if rule is not None and rule.idempotent and read else None


def _forgets(run: Run, node: t.Apply) -> None:
    forgotten = _forgotten(run, node)
    if forgotten is None:
        return
    gather, rule = forgotten
    name, acc = rewrite.one_line(run.text(node.target)), gather.name
    joined = f"{rule.name}({name}, {acc})" if rule.name in ("min", "max") else f"{name} {_FORGETS[rule.name]} {acc}"
    run.report(Code.LOST_VALUE, f"the old value of `{name}` is lost", node.span,
               f"only the neighbours' {rule.name} stays",
               notes=((gather.span, "gathered from the neighbours' values"),),
               help="join it with what was gathered:", write=f"apply {name} = {joined}")


def _read_of_neighbour(run: Run, parts: Iterable[t.Node], fields: tuple[Symbol, ...]) -> bool:
    owners = {p: run.symbols.get(p.value) for p in parts if isinstance(p, t.Member) and run.symbols.get(p) in fields}
    return any(o is not None and o.kind == "neighbour" for o in owners.values())

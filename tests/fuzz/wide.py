"""Random programs over the whole language: the forms of `nested_programs` and all other forms.

The programs have every numeric type, declared reductions of scalars and tuples, tuples of two to four parts in
fixpoints and gathers, vectors of every kind, HyperLogLog counters, and fields of vertices that are not neighbours. The
programs also have sets, globals that later statements read, `until` without a bound, loops over changes of integers and
floats, several fields in one declaration, functions with defaults, and contracts. All values are exact except the
values of fields of kind "real".
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np
from hypothesis import strategies as st

from tests.fuzz.wide_expressions import INTEGERS, SPELLED, Joined, WideExpressions, signed
from tests.reference.generators.expressions import Function, Scope
from tests.reference.generators.nested import Nested
from tests.reference.generators.programs import Generated, Moving, finished, started

__all__ = ["wide_programs"]

_PLAIN = frozenset({"int", "i64", "u8", "bool", "vertex", "float", "real"})  # kinds of the narrow generator
_DOMAINS = ("u -> self", "self -> u", "u -- self", "self -- u")
_PARTS = ("int", "vertex", "u8", "i16", "i64", "u32", "float")
_MIXED = """reduction mixed(a, b): (int, u16, bool) = (max(a[0], b[0]), wrap(a[1] + b[1]), a[2] or b[2]), \
identity (-inf, 0, false)"""


class _Wide(Nested):
    """A writer of programs with every form."""

    e: WideExpressions

    def over_edges(self, scope: Scope) -> Scope:
        """Return the scope inside of a reduction over edges, where old values of the neighbour may be read."""
        return replace(super().over_edges(scope), loop=scope.loop)

    # ---- declarations

    def declarations(self) -> None:
        """Declare reductions and functions, and one field for each of several kinds."""
        e = self.e
        for _ in range(e.number(0, 2)):
            self._reduction()
        if e.chance(25):
            self.line(0, _MIXED)
            self.mixed = True
        for _ in range(e.number(1, 3)):
            kind = e.pick([*INTEGERS, "double", "vertex", "bool", "float"])
            self._plain_field(kind)

    mixed = False

    def _plain_field(self, kind: str) -> None:
        """Declare fields of a kind, sometimes two fields in one line. Some floats are stored in 16 bits."""
        e = self.e
        names = [self.fresh("f") for _ in range(2 if e.chance(15) else 1)]
        type_ = "f16" if kind == "float" and e.chance(20) else SPELLED[kind]
        self.line(0, f"vertex {', '.join(names)}: {type_} = {self.quantised(kind, e.expr(kind, self.scope))}")
        self.kinds.update(dict.fromkeys(names, kind))

    def _reduction(self) -> None:
        """Declare a reduction of scalars."""
        e, name, kind = self.e, self.fresh("r"), self.e.pick([*INTEGERS, "bool", "float", "vertex"])
        if kind == "bool":
            forms = [("a or b", "false", True), ("a and b", "true", True), ("a != b", "false", False)]
        elif kind == "float":
            forms = [("min(a, b)", "inf", True), ("a if a > b else b", "-inf", True), ("max(b, a)", "-inf", True)]
        elif kind == "vertex":
            forms = [("min(a, b)", "none", True), ("max(a, b)", "none", True)]
        else:
            bits = 32 if kind == "int" else int(kind[1:])
            most, least = ("inf", "-inf") if signed(kind) else (str((1 << bits) - 1), "0")
            forms = [("min(a, b)", most, True), ("max(a, b)", least, True), ("a | b", "0", True), ("a ^ b", "0", False),
                     ("a & b", "-1" if signed(kind) else most, True), ("b if b < a else a", most, True),
                     *([] if signed(kind) else [("wrap(a + b)", "0", False)])]  # `wrap` takes infinities as bits
        body, start, idempotent = e.pick(forms)
        self.line(0, f"reduction {name}(a, b): {SPELLED[kind]} = {body}, identity {start}")
        e.declared.append(Joined(name, kind, idempotent))

    def function(self) -> None:
        """Declare a `fn` with parameters of any kinds, some with a default."""
        e, name = self.e, self.fresh("g")
        kind = e.pick(["int", "float", "bool", "u16", "i64"])
        arguments = tuple(e.pick(["int", "float", "u16", "i64"]) for _ in range(e.number(1, 2)))
        names = {f"p{k}": argument for k, argument in enumerate(arguments)}
        body = e.expr(kind, Scope(graph={**names, **self.graph_names}, here=False))
        listed = ", ".join(f"{n}: {SPELLED[k]}" for n, k in names.items())
        self.line(0, f"fn {name}({listed}): {SPELLED[kind]} = {self.quantised(kind, body)}")
        e.functions.append(Function(name, arguments, kind))

    # ---- reductions

    def reduction(self, kind: str, scope: Scope, domain: str, test: str = "") -> str:
        """Return a reduction of a kind: a declared reduction, a reduction of a further form, or a built-in reduction.
        """
        e = self.e
        if test:
            return super().reduction(kind, scope, domain, test) if kind in _PLAIN else self.gathered(kind, self.scope)
        usable = [one for one in e.declared if one.kind == kind]
        if usable and e.chance(40):
            cond = f" if {e.expr('bool', scope)}" if e.chance(35) else ""
            default = f", default = {e.literal(kind)}" if e.chance(20) and kind != "vertex" else ""
            return f"{e.pick(usable).name}({e.expr(kind, scope)} for {domain}{cond}{default})"
        if kind in INTEGERS and kind not in ("int", "i64"):
            return self._narrow(kind, scope, domain)
        if kind == "double":
            return f"sum(max(-8.0, min(8.0, {e.expr('double', scope)})) for {domain})"
        if "self" in domain and kind in ("bool", "vertex") and e.chance(20):
            default = "none" if kind == "vertex" else e.literal(kind)
            return f"mode({e.expr(kind, scope)} for {domain}, default = {default})"
        return super().reduction(kind, scope, domain)

    def _narrow(self, kind: str, scope: Scope, domain: str) -> str:
        """Return a reduction over edges, whose integers are narrower or wider than usual. A name of the kind must be in
        scope.
        """
        e = self.e
        body = f"({e.strict(kind, scope)} {e.pick('+-^')} {e.expr(kind, scope)})"
        word = e.pick(["sum", "min", "max", "bitor", "bitand", "bitxor", "prod", "mode", "median"])
        default = f", default = {e.literal(kind)}" if word in ("mode", "median") or e.chance(15) else ""
        cond = f" if {e.expr('bool', scope)}" if e.chance(35) else ""
        return f"{word}({body} for {domain}{cond}{default})"

    def _mixed(self, scope: Scope, domain: str) -> str:
        e = self.e
        some = e.strict("u16", scope) or "3"
        return f"mixed(({e.expr('int', scope, 1)}, {some}, {e.expr('bool', scope, 1)}) for {domain})"

    def gathered(self, kind: str, scope: Scope) -> str:
        """Return a reduction over edges."""
        return self.reduction(kind, self.over_edges(scope), self.e.pick(_DOMAINS))

    def overall(self, kind: str) -> str:
        """Return a reduction over vertices, or over the members of a set."""
        domain = self.e.pick(["v in vertices", "v in vertices", *(f"v in {name}" for name in self.e.sets)])
        return self.reduction(kind, self.over_vertices(), domain)

    def gathers(self, indent: int, scope: Scope, kinds: list[str]) -> Scope:
        """Write gathers of scalars, and of tuples of two to four parts; return the scope with their accumulators."""
        e = self.e
        for _ in range(e.number(1, 2)):
            name = self.fresh("a")
            if e.chance(20):
                parts = [e.pick(_PARTS) for _ in range(e.number(2, 4))]
                self.line(indent, f"gather {name} = {self._tuple(parts, scope)}")
                for place, part in enumerate(parts):
                    scope = scope.with_own(f"{name}[{place}]", part)
                continue
            inner = self.over_edges(scope)
            kind = e.pick([k for k in kinds if k in ("int", "i64", "bool", "vertex", "float", "real", "dist", "double")
                           or e.strict(k, inner)] or ["int"])
            if kind == "int" and self.mixed and e.chance(20):
                self.line(indent, f"gather {name} = {self._mixed(inner, e.pick(_DOMAINS))}")
                for place, part in enumerate(("int", "u16", "bool")):
                    scope = scope.with_own(f"{name}[{place}]", part)
                continue
            form = self.pointed if e.chance(15) else self.grouped if e.chance(15) else self.gathered
            self.line(indent, f"gather {name} = {form(kind, scope)}")
            scope = scope.with_own(name, kind)
        return scope

    def _tuple(self, parts: list[str], scope: Scope) -> str:
        """Return the `min` or `max` of tuples over edges. Every part has a definite type."""
        e, inner = self.e, self.over_edges(scope)
        texts = []
        for place, part in enumerate(parts):
            if part not in ("int", "vertex", "float") and not e.strict(part, inner):
                parts[place] = part = "int"
            name = e.strict(part, inner)
            texts.append(f"({name} + {e.expr(part, inner, 1)})" if part not in ("int", "vertex", "float")
                         else e.expr(part, inner, 1))
        return f"{e.pick(['min', 'max'])}(({', '.join(texts)}) for {e.pick(_DOMAINS)})"

    # ---- fields and loops

    def field(self) -> None:
        """Declare a field of any kind."""
        e = self.e
        if e.chance(40):
            super().field()
            return
        kind = e.pick([*INTEGERS, "double", "real", "bool", "vertex"])
        if self.kinds and e.chance(40) and (kind in ("int", "i64", "bool", "vertex", "real")
                                            or e.strict(kind, self.over_edges(self.scope))):
            name = self.fresh("f")
            value = self.gathered(kind, self.scope)
            if kind == "int" and self.mixed and e.chance(40):
                value = f"{self._mixed(self.over_edges(self.scope), e.pick(_DOMAINS))}[0]"
            self.line(0, f"vertex {name}: {SPELLED[kind]} = {self.quantised(kind, value)}")
            self.kinds[name] = kind
            return
        self._plain_field(kind)

    def quantised(self, kind: str, text: str) -> str:
        if kind == "double":
            return f"max(-64.0, min(64.0, floor(({text}) * 4) / 4))"
        return super().quantised(kind, text)

    def fixpoint_forms(self) -> list[Callable[[], Moving]]:
        """Return forms of loops whose fields change monotonically, also with declared reductions, tuples, vectors and
        counters.
        """
        own = [self._own] if any(one.idempotent for one in self.e.declared) else []
        return [*super().fixpoint_forms(), *own, *own, self._order, self._order, self._vector, self._hyper, self._wide]

    def _own(self) -> Moving:
        """Return a form with a declared reduction that is combined with a field."""
        e = self.e
        one = e.pick([one for one in e.declared if one.idempotent])
        name = self._declare(SPELLED[one.kind], self.quantised(one.kind, e.expr(one.kind, self.scope, 1)))
        acc, (domain, cond) = self.fresh("a"), self._ends()
        return (f"gather {acc} = {one.name}(u.{name} for {domain}{cond})",
                f"apply {name} = {e.pick([f'{one.name}({name}, {acc})', f'{one.name}({acc}, {name})'])}",
                {name: one.kind})

    def _wide(self) -> Moving:
        """Return a form with the `min` or `max` of any integer type."""
        e, kind, way = self.e, self.e.pick(INTEGERS), self.e.pick(["min", "max"])
        name = self._declare(SPELLED[kind], e.expr(kind, self.scope, 1))
        acc, (domain, cond) = self.fresh("a"), self._ends()
        return (f"gather {acc} = {way}(u.{name} for {domain}{cond})", f"apply {name} = {way}({name}, {acc})",
                {name: kind})

    def _order(self) -> Moving:
        """Return a form with two or three fields that change together as a word of 64, 128 or more bits."""
        e, way = self.e, self.e.pick(["min", "max"])
        kinds = [e.pick(["int", "i64", "i16", "float", "dist"]), e.pick(["vertex", "int", "u8", "u32"])]
        kinds += [e.pick(["vertex", "u8", "int"])] if e.chance(40) else []
        first = self._declare(SPELLED[kinds[0]], self._start("inf" if way == "min" else "-inf"))
        names = [first] + [self._declare(SPELLED[k], "self" if k == "vertex" else e.literal(k)) for k in kinds[1:]]
        step = "1" if way == "min" else "0"
        parts = [f"u.{first} + {step}", *(e.pick(["u", f"u.{n}"]) if k == "vertex" else f"u.{n}"
                                          for n, k in zip(names[1:], kinds[1:], strict=True))]
        acc, (domain, cond) = self.fresh("a"), self._ends()
        target = f"({', '.join(names)})"
        return (f"gather {acc} = {way}(({', '.join(parts)}) for {domain}{cond})",
                f"apply {target} = {way}({target}, {acc})", dict(zip(names, kinds, strict=True)))

    def _vector(self) -> Moving:
        """Return a form with a vector whose components change monotonically. No other statement reads the components.
        """
        e, kind, size = self.e, self.e.pick(["int", "u8", "i64", "float"]), self.e.number(1, 4)
        seeds = [self.quantised(kind, e.expr(kind, self.scope, 1)) for _ in range(size)]
        if e.chance(50):
            name = self._declare(f"{SPELLED[kind]}[{e.pick(['size', '2 * size'])}]", seeds[0])
        else:
            name = self._declare(f"{SPELLED[kind]}[{size}]", f"[{', '.join(seeds)}]")
        words = [("min", "min({}, {})"), ("max", "max({}, {})")]
        word, text = e.pick([*words, *([("bitor", "{} | {}"), ("bitand", "{} & {}")] if kind != "float" else [])])
        acc, (domain, cond) = self.fresh("a"), self._ends()
        body = e.pick([f"u.{name}", f"reverse(u.{name})"])
        after = self.fresh("y")
        if e.chance(30):
            self.after.append((f"vertex {after}: int = {e.pick(['argmin', 'argmax'])}({name})", after, "int"))
        else:
            self.after.append((f"vertex {after}: {SPELLED[kind]} = {e.pick(['min', 'max'])}({name})", after, kind))
        return (f"gather {acc} = {word}({body} for {domain}{cond})", f"apply {name} = {text.format(name, acc)}",
                {name: "vector"})

    def _hyper(self) -> Moving:
        """Return a form with a HyperLogLog counter, whose size may be rounded."""
        e = self.e
        name = self._declare("u8[64]", f"hll_unit({e.pick(['1', 'k'])}, {e.pick(['self', 's'])})")
        acc, (domain, cond) = self.fresh("a"), self._ends()
        after = self.fresh("y")
        self.after.append((f"vertex {after}: float = tanh(hll_size({name}) / 8)", after, "real"))
        return (f"gather {acc} = max(u.{name} for {domain}{cond})", f"apply {name} = max({name}, {acc})",
                {name: "vector"})

    def fixpoint(self) -> None:
        self.after: list[tuple[str, str, str]] = []
        super().fixpoint()
        for line, name, kind in self.after:
            self.line(0, line)
            self.kinds[name] = kind

    def sending_changes(self) -> None:
        """Write a loop over changes of integers, which are exact, or of floats, which may be rounded."""
        e = self.e
        if e.chance(50):
            super().sending_changes()
            return
        name, acc = self._declare("float", self.quantised("real", e.expr("real", self.scope, 1))), self.fresh("a")
        self.kinds[name] = "real"
        domain, cond = self._ends()
        self.line(0, f"repeat {e.number(1, 4)} times:")
        self.line(1, f"gather {acc} = sum(change(u.{name}) * 0.25 / (1 + u.degree) for {domain}{cond})")
        self.line(1, f"apply {name} += {e.pick(['', '0.5 * '])}{acc}")

    def open_loop(self) -> None:
        """Write a loop that only `until` ends, after a number of supersteps."""
        e, scope = self.e, self.loop_scope().with_graph("iteration", "int")
        fields = {n: k for n, k in self.kinds.items() if k not in ("dist", "real", "vector")}
        if not fields:
            return
        more = f" or {self.overall('bool')}" if e.chance(30) else ""
        self.line(0, f"repeat until iteration >= {e.number(1, 4)}{more}:")
        scope = self.gathers(1, scope, list(fields.values()))
        self.applies(1, scope, fields)

    def walk(self) -> None:
        """Write statements outside of loops, and globals that later statements read."""
        e = self.e
        if e.chance(30):
            name, kind = self.fresh("t"), e.pick(["i64", "bool", "float"])
            self.line(0, f"global {name}: {kind} = {self.overall(kind)}")
            self.graph_names[name] = kind
            return
        self.plain()


@st.composite
def wide_programs(draw: st.DrawFn) -> Generated:
    """Draw programs over the whole language, with a graph and inputs."""
    w = _Wide(WideExpressions(draw, ("group",)))
    made = started(w, group=True)
    if "given" in w.kinds and w.e.chance(30):
        made.fields["given"] = np.maximum(made.fields["given"], 0)
        w.line(0, "require given >= 0")
    w.declarations()
    forms: list[Callable[[], None]] = [w.stepping, w.fixpoint, w.fixpoint, w.sending_changes, w.open_loop, w.walk,
                                       partial(w.block, 2)]
    for _ in range(w.e.number(1, 3)):
        w.e.pick(forms)()
    return finished(w, made)

"""The engine is compared with the interpreter for every reduction, type and direction."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.cpu.compare import assert_as_interpreted, assert_cut_free, interpreted
from tests.reference.cases import Case
from tests.reference.graph import Array
from tests.reference.graphs import family
from tests.sample import sampled
from vlang import compile

DOMAINS = ("u -> self", "self -> u", "u -- self")
INTEGERS = ("i8", "i32", "u16", "u64")  # i64 and u8 are tested below and in other files
SEED = 20


def values(kind: str, n: int, seed: int = SEED) -> Array:
    """Return random values over the whole range of a type, including small and repeated values."""
    rng = np.random.default_rng(seed)
    if kind == "bool":
        return rng.integers(0, 2, n).astype(bool)
    if kind == "vertex":
        return rng.integers(-1, n, n) if n else np.zeros(0, np.int64)
    word = {"i": "int", "u": "uint", "f": "float"}[kind[0]]
    dtype = np.dtype(word + kind[1:])
    if word == "float":
        drawn = (rng.integers(-40, 41, n) / 4).astype(dtype)
        drawn[n // 2 : n // 2 + 1] = np.inf
        return drawn
    limits = np.iinfo(dtype)
    drawn = rng.integers(limits.min, limits.max, n, dtype=dtype, endpoint=True)
    drawn[::3] = rng.integers(0, 5, len(drawn[::3]))
    drawn[1:2], drawn[4:5] = limits.max, limits.min
    return drawn


class Body:
    """The text of a program of consecutive gathers. Each gather has its own output. Some gathers have `if`, and some
    have `default`.
    """

    def __init__(self, *declarations: str) -> None:
        self.head = ["program all_reductions", *declarations]
        self.body: list[str] = []
        self.number = 0

    def add(self, reduction: str, value: str, type_: str, domain: str, default: str, cond: str = "u != self") -> None:
        """Add one gather.

        Args:
            default: the value of a vertex without contributions. Every `mean` and some other reductions use this
                default.
        """
        k = self.number
        self.number += 1
        text = f"{reduction}({value} for {domain}"
        text += f" if {cond}" if k % 3 == 1 else ""
        text += f", default = {default}" if reduction == "mean" or k % 4 == 3 else ""
        zero = {"bool": "false", "vertex": "none"}.get(type_, "0")
        self.head.append(f"vertex out{k}: {type_} = {zero}")
        self.body += [f"gather g{k} = {text})", f"apply out{k} = g{k}"]

    @property
    def text(self) -> str:
        """The text of the program."""
        return "\n".join([*self.head, *self.body]) + "\n"


def check(text: str, fields: dict[str, str], *families: str) -> None:
    """Compare a program with the interpreter on directed and undirected graphs."""
    program = compile(text)
    for name in families:
        for directed in (True, False):
            graph = family(name, directed)
            drawn = enumerate(fields.items())
            given: dict[str, Any] = {f: values(kind, graph.n, SEED + i) for i, (f, kind) in drawn}
            case = Case(graph, {}, given)
            assert_as_interpreted(program, case, assert_cut_free(program, case), interpreted(program, case))


@pytest.mark.parametrize("kind", sampled(INTEGERS, ["i8", "u64"]))
def test_integers(kind: str) -> None:
    body = Body(f"vertex x: {kind}")
    for k, name in enumerate(("sum", "prod", "min", "max", "bitor", "bitand", "bitxor")):
        for domain in DOMAINS if kind == "i32" and k < 3 else DOMAINS[k % 3 : k % 3 + 1]:
            body.add(name, "u.x", kind, domain, "x")
    body.add("mean", "u.x % 16", "f64" if kind.endswith("64") else "float", DOMAINS[INTEGERS.index(kind) % 3], "7.5")
    check(body.text, {"x": kind}, "messy", "no_edges")


@pytest.mark.parametrize("kind", sampled(["f16", "f32", "f64"], ["f16", "f64"]))
def test_floats(kind: str) -> None:
    body = Body(f"vertex x: {kind}")
    computed = "f32" if kind == "f16" else kind
    for k, name in enumerate(("sum", "prod", "min", "max", "mean")):
        for domain in DOMAINS if kind == "f32" and k == 0 else DOMAINS[k % 3 : k % 3 + 1]:
            body.add(name, "u.x * 0.5" if name == "prod" else "u.x", kind if name in ("min", "max") else computed,
                     domain, "x", "u.x < 100")  # fmt: skip
    check(body.text, {"x": kind}, "messy", "star_in")


def test_bools_and_vertices() -> None:
    body = Body("vertex flag: bool", "vertex link: vertex", "vertex x: i64")
    for domain in DOMAINS:
        body.add("any", "u.flag", "bool", domain, "flag", "u.x > 0")
        body.add("all", "u.flag", "bool", domain, "flag", "u.x > 0")
        body.add("count", "u.flag", "int", domain, "7", "u.x > 0")
        body.add("count", "u.x > x", "int", domain, "3")
        body.add("min", "u", "vertex", domain, "self")
        body.add("max", "u", "vertex", domain, "link", "u.flag")
        body.add("min", "u.link", "vertex", domain, "self")
        body.add("max", "u.link", "vertex", domain, "none", "u.link != u")
    check(body.text, {"flag": "bool", "link": "vertex", "x": "i64"}, "messy", "star_out")


def test_tuples() -> None:
    kinds = {"a": "i32", "b": "f32", "c": "vertex", "d": "u8", "e": "i64", "f": "f16", "g": "bool"}
    fields = [f"vertex {name}: {kind}" for name, kind in kinds.items()]
    outputs = [f"vertex {name}{way}: {kind} = {'false' if kind == 'bool' else 'none' if kind == 'vertex' else 0}"
               for way in (0, 1) for name, kind in kinds.items()]  # fmt: skip
    lines = []
    groups = [("a", "c"), ("b", "c"), ("d", "e", "c"), ("f", "a"), ("c", "b"), ("e", "a", "d", "c")]
    for way, reduction in enumerate(("min", "max")):
        for k, group in enumerate(groups):
            value = ", ".join(f"u.{name}" for name in group)
            default = ", default = (" + ", ".join(group) + ")" if k % 2 else ""
            cond = " if u.g" if k % 3 == 1 else ""
            target = "(" + ", ".join(f"{name}{way}" for name in group) + ")"
            lines += [f"gather p{way}{k} = {reduction}(({value}) for {DOMAINS[k % 3]}{cond}{default})",
                      f"apply {target} = {reduction}({target}, p{way}{k})"]  # fmt: skip
    check("\n".join(["program tuples", *fields, *outputs, *lines]) + "\n", kinds, "messy", "path")


OVER = ("sum_s", "mean_w", "max_w", "sum_x", "mean_h", "min_h", "prod_i", "bitor_s", "bitand_i", "bitxor_w", "one",
        "every", "first", "last", "share")


def test_over_vertices() -> None:
    """Every reduction over vertices is right, with conditions and defaults, in lets, globals and initializers. With
    VLANG_EXHAUSTIVE, all types are tested.
    """
    kinds = {"i": "i32", "s": "i8", "w": "u64", "x": "f32", "h": "f16", "flag": "bool", "link": "vertex"}
    lets: dict[str, tuple[str, str]] = {}
    for name, kind in kinds.items():
        if kind not in ("bool", "vertex"):
            body = f"v.{name} * 0.5" if kind[0] == "f" else f"v.{name}"
            for reduction in ("sum", "min", "max", "mean") if kind != "i32" else ("sum", "prod", "min"):
                default = ", default = 1" if reduction == "mean" else ""
                lets[f"{reduction}_{name}"] = (f"{reduction}({body} for v in vertices if v.flag{default})", "")
        if kind[0] in "iu":
            for reduction in ("bitor", "bitand", "bitxor"):
                lets[f"{reduction}_{name}"] = (f"{reduction}(v.{name} for v in vertices)", "")
    lets |= {
        "n_flags": ("count(v.flag for v in vertices)", ""),
        "one": ("any(v.flag and v.i > 3 for v in vertices)", ""), "every": ("all(v.x < 99 for v in vertices)", ""),
        "first": ("min(v for v in vertices if v.flag)", ""), "last": ("max(v.link for v in vertices)", ""),
        "share": ("sum(v.x for v in vertices) / max(1, count(v.flag for v in vertices)) + N", ""),
    }  # fmt: skip
    lines = ["program folds", *(f"vertex {name}: {kind}" for name, kind in kinds.items())]
    lines += [f"global {name} = {lets[name][0]}" for name in sampled(lets, OVER)]
    lines += ["vertex scaled: float = x * 2 - max(v.i for v in vertices if v.i < 1000, default = 1)"]
    check("\n".join(lines) + "\n", kinds, "messy", "empty", "path")

"""Names with a meaning in Python, numba, NumPy, C, CUDA or vlang itself, and programs that use these names."""

from __future__ import annotations

import keyword
from collections.abc import Iterator
from itertools import cycle, islice

import numpy as np

from tests.reference.cases import Case
from tests.reference.graph import RefGraph
from vlang.check.calls import FUNCTIONS, SPECIAL
from vlang.check.numbers import NUMBERS
from vlang.reductions import REDUCTIONS
from vlang.syntax.keywords import CONTEXTUAL, PREDEFINED, RESERVED

__all__ = ["NAMES", "OURS", "ROLES", "programs"]

OURS = frozenset({*FUNCTIONS, *SPECIAL, *REDUCTIONS}) - frozenset(NUMBERS)
"""Names that functions and reductions of a program may not have."""

_PYTHON = """
    print len list dict object type id range self_ cls args kwargs __init__ __class__ __dict__ __doc__ __name__ _ __
    result math exec eval
"""
_NUMBA = """
    np numba njit prange boolean intp uint8 float64 cgutils inner env columns acc masks frame row room pages word
    shift said bits space base degree_ t0 t1 v u k a0 part
"""
_C = """
    double char void struct union template operator typename class_ static const volatile register asm goto switch
    case this new delete NULL INFINITY NAN main printf size_t auto inline restrict signed unsigned long short sizeof
    extern public private using namespace bool_ and_eq xor not_eq compl errno stdin M_PI
"""
_CUDA = """
    threadIdx blockIdx blockDim gridDim warpSize __global__ __device__ __shared__ __syncthreads atomicAdd dim3
    float4 Env Acc Item Masks Columns Room Cells Registers bind apply_ take merge nan nanf clock tex1D __CUDA_ARCH__
    __LINE__
"""
_VLANG = """
    graph options arguments source file allow_pickle values rounds reason converged history ids types globals src
    dst directed threads_ name n m x_0 edge_x scalar_x loop0_limit range0_low level_0 where_0 s0 s1 notify active
    program_ doc params common position min max sum abs sqrt count mean mode target order sign clamp round
"""
NAMES = tuple(name for name in dict.fromkeys(
    [*sorted(CONTEXTUAL), *keyword.kwlist, *keyword.softkwlist, *"".join((_PYTHON, _NUMBA, _C, _CUDA, _VLANG)).split()]
) if name not in RESERVED | PREDEFINED)  # fmt: skip

# A program for each kind of thing that has a name.
ROLES = {
    "program": "program {}\nvertex x_: float = 1",
    "parameter": "program p({}: float = 0.5)\nvertex x_: float = {}",
    "needed": "program p({}: float)\nvertex x_: float = {}",
    "set": "program p({}: vertices)\nvertex x_: float = 1\nfor s_ in {}:\n    apply x_ += 1",
    "field": "program p\nvertex {}: float = 1\nrepeat 2 times:\n    gather g_ = sum(u_.{} for u_ -> self)\n"
             "    apply {} = {} + g_",
    "given": "program p\nvertex {}: float\nvertex x_: float = {}",
    "edge": "program p\nedge {}: float = 1\nvertex x_: float = sum({} for u_ -> self)",
    "global": "program p\nglobal {} = 1\nvertex x_: float = {}",
    "let": "program p\nlet {} = 1\nvertex x_: float = {}",
    "argument": "program p\nfn f_({}: float) = {} + 1\nvertex x_: float = f_(2.0)",
    "accumulator": "program p\nvertex x_: float = 1\nrepeat 2 times:\n    gather {} = sum(u_.x_ for u_ -> self)\n"
                   "    apply x_ = {}",
    "neighbour": "program p\nvertex x_: float = sum({}.indegree for {} -> self)",
    "member": "program p\nvertex x_: float = 1\nglobal g_ = sum({}.x_ for {} in vertices)",
    "range": "program p\nvertex x_: float = 1\nfor {} from 1 to 3:\n    apply x_ += {}",
    "each": "program p(g_: vertices)\nvertex x_: float = 1\nfor {} in g_:\n    where self == {}:\n"
            "        apply x_ += 1",
    "operand": "program p\nreduction r_({}, b_): float = {} + b_, identity 0\n"
               "vertex x_: float = r_(1.0 for u_ -> self)",
    "local": "program p\nvertex x_: float = 1\nrepeat 2 times:\n    vertex {}: float = x_\n    apply x_ = x_ + {}",
    "function": "program p\nfn {}(a_: float) = a_ + 1\nvertex x_: float = {}(2.0)",
    "reduction": "program p\nreduction {}(a_, b_): float = a_ + b_, identity 0\n"
                 "vertex x_: float = {}(1.0 for u_ -> self)",
}


def programs() -> Iterator[tuple[str, Case]]:
    """Yield programs that use every name as a field and as a parameter, and some names for all other declarations."""
    yield _fields()
    yield _parameters()
    yield _ALIKE, Case(_graph(()))
    names = cycle([*NAMES[::2], *NAMES[1::2]])
    for _ in range(3):
        yield _everything(list(islice(names, 40)))


# Names of the form that generated slots have: default of an edge field, component of a tuple, limit, accumulator.
_ALIKE = """program p(edge_w = 1.0, edge_best_0 = 2.0, over_vertices_0_0 = 7.0, loop0_limit = 2, range0_low = 1)
edge w: float = 3
edge best_0_: float = 5
vertex x: float = outdegree
vertex next_x: float = 1
vertex field_x: float = 2
let best_1 = 4.0
let edge_best_0_ = 9.0
vertex best: float = max((v.x, v) for v in vertices)[0] + over_vertices_0_0 + best_1
vertex y: float = best + sum(w + edge_w + edge_best_0 + best_0_ + edge_best_0_ for u -> self)
repeat loop0_limit + 1 times:
    gather a = max((u.x, u) for u -> self)
    gather a_0 = sum(u.field_x + u.next_x for u -> self)
    gather a_0_0 = min(u.y for u -> self)
    apply x = x + a[0] + a_0 % 7 + a_0_0 % 5
    apply field_x = next_x
    gather later = sum(old(u.x) for u -> self)
    apply next_x = later + a_0
for range0 from range0_low to 2:
    apply next_x += range0
"""


def _fields() -> tuple[str, Case]:
    lines = [f"vertex {name}: int = {at}" for at, name in enumerate(NAMES)]
    some = NAMES[::10]
    lines += ["repeat 2 times:", f"    gather x_ = sum({' + '.join(f'u_.{name}' for name in some)} for u_ -> self)"]
    lines += [f"    apply {name} = {name} + x_ % {at + 2}" for at, name in enumerate(NAMES[::15])]
    return "\n".join(["program class", *lines]), Case(_graph(()))


def _parameters() -> tuple[str, Case]:
    heads = [f"{name}: float = {at}" if at % 2 else f"{name}: float" for at, name in enumerate(NAMES)]
    given = {name: at / 4 for at, name in enumerate(NAMES) if at % 3 == 0 or at % 2 == 0}
    sums = [f"vertex sum_{at}: float = {' + '.join(NAMES[at::5])}" for at in range(5)]
    return "\n".join([f"program None({', '.join(heads)})", *sums]), Case(_graph(()), given)


def _everything(n: list[str]) -> tuple[str, Case]:
    """Return a program that uses 40 names for all kinds of declarations."""
    called = [name for name in n if name not in OURS]
    for name in called[:3]:
        n.remove(name)
    fn, other, reduction = called[:3]
    text = f"""program {n[0]}({n[1]}: float, {n[2]}: int = 3, {n[3]}: vertices, {n[4]}: vertex, {n[5]} = true)
edge {n[6]}: float
edge {n[7]}: int = 2
edge {n[36]}: float = {n[2]}
vertex {n[8]}: float
vertex {n[9]}: float[2]
global {n[10]} = {n[2]} + 1
fn {fn}({n[11]}: float) = {n[11]} + {n[1]}
fn {other}({n[12]}: float, {n[13]}: int) = {fn}({n[12]}) * {n[13]}
reduction {reduction}({n[14]}, {n[15]}): float = {n[14]} + {n[15]}, identity 0
vertex {n[16]}: float = {fn}({n[1]}) + {other}(0.5, {n[2]})
vertex {n[17]}: vertex = {n[4]}
vertex {n[18]}: i64 = 1 if {n[5]} else 0
let {n[19]} = sum({n[20]}.{n[8]} + {n[20]}.{n[9]}[0] for {n[20]} in vertices)
for {n[21]} in {n[3]}:
    where self == {n[21]}:
        apply {n[18]} += 10
for {n[22]} from 1 to 2:
    vertex {n[23]}: float = {n[16]} + {n[22]} * {n[19]}
    gather {n[24]} = sum({n[25]}.{n[23]} * {n[6]} + {n[7]} for {n[25]} -> self)
    gather {n[26]} = {reduction}({n[27]}.{n[16]} / {n[36]} for self -> {n[27]})
    apply {n[16]} = ({n[24]} + {n[26]}) / 64
    apply {n[17]} = self if {n[24]} > {n[26]} else {n[17]}
repeat at most 4 times until max({n[28]}.{n[18]} for {n[28]} in vertices) > 30:
    let {n[29]} = {n[10]} + iteration
    gather {n[30]} = max(({n[31]}.{n[18]}, {n[31]}) for {n[31]} -- self if {n[6]} < 9)
    apply ({n[18]}, {n[17]}) = ({n[18]} + {n[29]}, {n[30]}[1])
global {n[32]}: i64 = max({n[33]}.{n[18]} for {n[33]} in vertices)
global {n[34]} = {n[19]}
sweep {n[18]} up:
    gather {n[35]} = count({n[0]}.{n[18]} < {n[18]} for {n[0]} -> self)
    apply {n[8]} = {n[8]} + {n[35]}
"""
    params = {n[1]: 0.25, n[3]: [2, 0], n[4]: 3}
    fields = {n[8]: np.arange(5.0), n[9]: np.arange(10.0).reshape(5, 2)}
    return text, Case(_graph((n[6], n[7])), params, fields)


def _graph(columns: tuple[str, ...]) -> RefGraph:
    src, dst = np.array([0, 1, 2, 3, 4, 4, 2]), np.array([1, 2, 3, 4, 0, 2, 0])
    return RefGraph(5, src, dst, {name: np.arange(7, dtype=np.int32) + at for at, name in enumerate(columns)})

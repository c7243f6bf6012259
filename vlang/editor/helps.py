"""Help texts: one line for each keyword, reduction and function (language.md sections 5 and 8)."""

from __future__ import annotations

from vlang.maths import MATHS
from vlang.reductions import REDUCTIONS
from vlang.types import CONVERSIONS

__all__ = ["FUNCTION_HELP", "REDUCTION_HELP", "WORD_HELP"]

WORD_HELP = {
    "program": "`program name(parameters)`: the header, above everything else",
    "vertex": "`vertex f: T = e`: one value per vertex. As a type: a vertex, or `none`",
    "edge": "`edge f: T = e`: a property of the edges, read-only; `e` is for graphs that have none",
    "state": "`edge state f: T = e`: one value for each edge, written by `apply f = e for u -> self`",
    "vertices": "all vertices (`for v in vertices`). As the type of a parameter: a list of vertices",
    "global": "`global g: T = e`: one value for the whole graph, an output",
    "fn": "`fn f(x: T): T = e`: a function, inlined where it is called",
    "reduction": "`reduction f(a, b): T = e, identity i`: a reduction of your own",
    "identity": "`identity i`: what a declared reduction gives for no contributions",
    "require": "`require e`: a contract on parameters, edge fields and input fields, checked before the program runs. "
               "`require undirected`, `require simple`, `require loopless`: what the graph must be",
    "default": "`default = d`: what a gather gives a vertex without contributions",
    "gather": "`gather a = R(e for u -> self if c)`: combines one contribution per edge at every vertex",
    "apply": "`apply f = e`: writes a field of this vertex; all reads come first",
    "let": "`let x = e`: names a value of the whole graph until the end of its block",
    "activate": "`activate when c`: which vertices count as changed after the superstep; by default those where an "
                "applied field changed",
    "when": "`activate when c`",
    "repeat": "`repeat [n times | at most n times] [until c]:`: supersteps, by default until nothing changes",
    "until": "`until c`: ends the loop when `c` holds after a superstep",
    "times": "`repeat n times`, `repeat at most n times`",
    "at": "`repeat at most n times`",
    "most": "`repeat at most n times`",
    "sweep": "`sweep f up:` or `down:`: once per value of the integer field `f`, in order, for the vertices with it",
    "up": "`sweep f up:`: in increasing order",
    "down": "`sweep f down:`: in decreasing order",
    "where": "`where c:`: runs the block for the vertices where `c` holds on entry",
    "for": "`R(e for u -> self)`: over edges; `R(e for v in vertices)`: over vertices; `for s in S:`, "
           "`for k from a to b:`: loops",
    "in": "`for v in vertices`, `for s in S`",
    "by": "`for u -- self by c = u.label`: splits the edges of a vertex into groups, one for each value",
    "weight": "`mode(u.label for u -- self, weight = w)`: how much each vote counts; of `pick`, the chance of an edge",
    "from": "`for k from a to b:`",
    "to": "`for k from a to b:`",
    "if": "`a if c else b`; in a reduction: `R(e for u -> self if c)`",
    "else": "`a if c else b`",
    "and": "both hold",
    "or": "one holds, or both",
    "not": "does not hold",
    "const": "`k: const = 8`: a parameter whose value is known when the program is compiled, as in `float[k]`",
    "category": "names, from a column of texts: `kind == \"road\"`",
    "date": "points in time that count days: `day >= \"2024-05-01\"`",
    "time": "points in time that count seconds; `time[ms]`, `time[us]` and `time[ns]` count parts of one",
    "true": "the value of `bool` that holds",
    "false": "the value of `bool` that does not hold",
    "inf": "infinity, of `float` and of signed integers, where it absorbs what is added",
    "none": "no vertex",
    "self": "this vertex",
    "N": "the number of vertices",
    "M": "the number of stored directed edges; an undirected edge counts twice",
    "degree": "the number of edge ends at the vertex",
    "indegree": "the number of edges to the vertex",
    "outdegree": "the number of edges from the vertex",
    "iteration": "the number of the superstep, from 1",
}

REDUCTION_HELP = {
    **{name: rule.help for name, rule in REDUCTIONS.items()},
    "pick": "`pick(e for u -> self, seed, key, ...)`: of a random edge, by its `weight` if there is one",
}

FUNCTION_HELP = {
    "min": "`min(a, b, ...)`: the least; `min(x)`: of the components of a vector",
    "max": "`max(a, b, ...)`: the greatest; `max(x)`: of the components of a vector",
    "sum": "`sum(x)`: the sum of the components of a vector",
    "mean": "`mean(x)`: the mean of the components of a vector",
    "argmin": "`argmin(x)`: the index of the least component of a vector, the first in a tie",
    "argmax": "`argmax(x)`: the index of the greatest component of a vector, the first in a tie",
    "abs": "`abs(x)`: without its sign",
    "wrap": "`wrap(e)`: the `+ - *` of integers written in e wrap around instead of becoming infinite",
    "dot": "`dot(x, y)`: the inner product of two vectors",
    "reverse": "`reverse(x)`: the components of a vector in reverse order",
    "sign": "`sign(x)`: 1 above 0, -1 below, else x itself",
    "clamp": "`clamp(x, low, high)`: `min(max(x, low), high)`",
    "pow": "`pow(a, b)`: `a ** b`",
    "isnan": "`isnan(x)`: whether a float is NaN",
    **{name: rule.help for name, rule in MATHS.items()},
    **{name: f"`{name}(x)`: a number, or a bool as 0 or 1, as `{name}`" for name in CONVERSIONS},
    "bit": "`bit(i)`: `1 << i` as `u64`, and 0 if i is not in 0..63",
    "random": "`random(seed, key, ...)`: a float in [0, 1) that depends on these; keys: vertices, integers, `edge`",
    "common": "`common(u, v)`: how many common neighbours, directions ignored; `for w in common(self, u)`: all of them",
    "edges": "`edges(a, b)`: the number of edges from a to b, of two of `self`, a neighbour and a common neighbour",
    "hll_unit": "`hll_unit(seed, v)`: a HyperLogLog counter (`u8[64]`) of one element",
    "hll_size": "`hll_size(c)`: how many different elements a HyperLogLog counter has seen, about",
    "old": "`old(f)`: the field at the start of the superstep",
    "change": "`change(f)`: the change that the vertex has not sent to its neighbours yet",
    "changed": "`changed(f)`: whether the field differs from its value at the start of the superstep",
    "len": "`len(S)`: the number of vertices in the parameter S",
    "position": "`position(v, S)`: the index of v in the parameter S, -1 if it is not there",
}

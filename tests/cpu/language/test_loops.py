"""The engine is compared with the interpreter for loops of every kind, their end conditions and their active vertices.
"""

from __future__ import annotations

import pytest

from tests.cpu.compare import assert_as_interpreted, assert_cut_free, interpreted
from tests.reference.cases import Case
from tests.reference.graphs import family
from tests.sample import sampled
from vlang import compile

SHAPES = ("messy", "path", "rmat", "star_in", "no_edges", "empty")

PROGRAMS: dict[str, str] = {
    "kinds": """
program kinds(n: int = 2, none_at_all = 0)
vertex a, b, c, d, e: int = outdegree
repeat n times:
    gather s = sum(u.a % 7 for u -> self)
    apply a = s % 11
repeat none_at_all times:
    apply b = 99
repeat -3 times: apply b = 98
repeat at most 0 times: apply b = 97
repeat at most n + 3 times:
    gather s = max(u.b for self -> u)
    apply b = max(b, s)
repeat until sum(v.c for v in vertices) > 40 or count(v.c > 0 for v in vertices) == 0:
    gather s = sum(u.c for u -- self)
    apply c = min(c + s, 9)
repeat at most 4 times until all(v.d >= 6 for v in vertices):
    apply d += iteration
repeat:
    gather s = min(u.e for u -> self)
    apply e = min(e, s)
let total = sum(v.a for v in vertices)
repeat floor(total) % 3 times:
    apply a += 1
global last = sum(v.a + v.b for v in vertices)
""",
    "again": """
program again
vertex a: int = 0 if self_first() else inf
vertex b: int = 0
fn self_first(): bool = N > 0
repeat:
    gather s = min(u.a + 1 for u -> self)
    apply a = min(a, s)
apply a = a + 2 if a < 5 else a
let most_of_a = max(v.a for v in vertices if v.a < inf)
where a == most_of_a: apply b = 1
repeat:
    gather s = max(u.a for u -> self if u.b == 1)
    gather t = max(u.b for u -> self)
    apply a = max(a, s)
    apply b = max(b, t)
repeat 2 times:
    gather s = sum(u.a % 5 for u -- self)
    apply a = s
repeat at most 5 times:
    gather s = bitor(u.a for self -> u)
    apply a |= s
""",
    "past": """
program past
vertex a: int = indegree
vertex b: int = 0
vertex c: int = 0
vertex seen: int = 0
repeat 4 times:
    gather s = sum(old(u.a) - u.b for u -> self)
    apply a += s % 5
    apply b = a - old(a)
    gather t = sum(old(u.a) + u.a for self -> u)
    apply c = t + old(c) % 3
    where changed(a): apply seen += 1
    where not changed(b): apply seen += 100
repeat at most 6 times until sum(abs(change(v.a)) for v in vertices) < 2:
    gather s = max(u.a for u -> self)
    apply a = (a + s) // 2 if s > 0 else a // 2
    apply c += iteration * (1 if a != old(a) else 0)
""",
    "explicit": """
program explicit
vertex a: int = indegree % 4
vertex b: int = 0
repeat at most 9 times:
    gather s = max(u.a for u -> self)
    apply a = max(a, s) if iteration < 3 else a
    apply b += 1
    activate when a > 2 and b < 6
repeat:
    gather s = max(u.a for u -> self)
    apply a = max(a, s)
    activate when changed(a)
repeat at most 12 times:
    apply b += a % 3
    activate when change(b) > 4
repeat at most 12 times:
    gather s = sum(u.b % 3 for u -- self)
    apply b += s % 2
    activate when abs(change(b)) >= 2 and s > 0
""",
    "sent": """
program sent_
vertex x: float = indegree / 4
vertex y: float = 0
repeat at most 20 times:
    gather s = mean(u.x for u -> self, default = 0)
    apply x = floor((x + s) * 8) / 16
    apply y = y + 0.25
    activate when abs(change(x)) > 0.2 or change(y) >= 1
repeat at most 30 times until max(abs(change(v.x)) for v in vertices) <= 0.5:
    gather s = sum(u.x for self -> u)
    apply x = min(8.0, s / 2 + 0.5)
    activate when abs(change(x)) > 0.5
""",
    "two passes": """
program two_passes
vertex hub, auth: i64 = 1
repeat 4 times:
    gather a = sum(u.hub for u -> self)
    apply auth = a % 1000
    gather h = sum(u.auth for self -> u)
    apply hub = h % 1000
    let most_hub = max(v.hub for v in vertices)
    apply hub -= most_hub // 2
    gather back = min(u.hub - u.auth for u -- self)
    where back < 0: apply auth += back
repeat:
    gather a = max(u.hub for u -> self)
    apply auth = max(auth, a)
    gather h = max(u.auth for self -> u)
    apply hub = max(hub, h)
""",
    "lets": """
program lets
vertex a: int = self_id()
fn self_id(): int = N % 5
vertex b: int = outdegree
repeat 5 times:
    let x = sum(v.a for v in vertices if v.b > 0)
    apply a += 1
    let y = sum(v.a - old(v.a) for v in vertices) + x
    gather s = sum(u.a for u -> self)
    let z = max(v.b for v in vertices) + iteration
    apply b = floor(s % 50) + (1 if y > z else 0)
    let w = count(v.b > 3 for v in vertices)
    where b < w: apply a -= 1
repeat until iteration >= 3: apply b += iteration
repeat until any(v.b > 1000 for v in vertices): apply b = b
""",
    "pairs": """
program pairs
vertex d: int = 0 if indegree == 0 or outdegree > 3 else inf
vertex p: vertex = none
vertex far: float = outdegree
vertex who: vertex = self
vertex hops: int = 0
repeat:
    gather near = min((u.d + 1, u) for u -> self)
    apply (d, p) = min((d, p), near)
repeat:
    gather best = max((u.far, u.who, u.hops + 1) for u -- self if u.far > 0)
    where best[0] > far or best[0] == far and best[1] > who and who != none:
        apply (far, who, hops) = best
repeat:
    gather first = min(u.who for u -- self)
    apply who = min(who, first)
""",
    "flags": """
program flags(one: u64 = 1)
vertex on: bool = indegree == 0
vertex all_on: bool = true
vertex bits: u64 = one << (outdegree % 64)
vertex small: u8 = 255
vertex tiny: i8 = 100
repeat:
    gather s = any(u.on for u -> self)
    apply on = on or s
    gather t = all(u.on for self -> u)
    apply all_on = all_on and t
    gather r = bitand(u.small for u -> self)
    apply small = small & r & (254 if on else 255)
repeat:
    gather s = bitor(u.bits for u -- self)
    apply bits = bits | s
repeat 3 times:
    gather s = sum(u.tiny for u -> self)
    apply tiny = s + tiny
    gather t = prod(u.small for self -> u)
    apply small += t
""",
}


@pytest.mark.parametrize("name", sampled(PROGRAMS, set(PROGRAMS) - {"again", "two passes", "lets"}))
def test_loops(name: str) -> None:
    program = compile(PROGRAMS[name].lstrip("\n"))
    for shape in SHAPES:
        for directed in (True, False):
            case = Case(family(shape, directed), {"one": 1} if name == "flags" else {})
            assert_as_interpreted(program, case, assert_cut_free(program, case), interpreted(program, case))

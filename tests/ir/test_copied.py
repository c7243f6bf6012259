"""Rule K is granted and refused on small programs, and its verdict on every loop of the design programs is right."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.ir.helpers import loop_of
from vlang.check import check, parse
from vlang.ir.facts import analyse
from vlang.ir.lower import lower

PROGRAMS = Path(__file__).parent.parent / "reference" / "design"

LOOP = """program p(k: int = 3)
vertex x: {type} = {start}
vertex y: {type} = {start}
{head}:
{first}    gather a = {gather}
    apply  x = {apply}
{more}
"""


def loop(head: str = "repeat", gather: str = "min(u.x for u -- self)", apply: str = "min(x, a)", type_: str = "int",
         start: str = "1", first: str = "", more: str = "") -> str:
    return LOOP.format(head=head, gather=gather, apply=apply, type=type_, start=start, first=first and f"    {first}\n",
                       more=more and f"    {more}")


@pytest.mark.parametrize(("text", "marks"), [
    (loop(), ()),
    (loop(apply="min(a, x)"), ()),
    (loop(gather="min(u.x for u -> self)"), ("undirected",)),
    (loop(gather="min(u.x for self -> u)"), ("undirected",)),
    (loop(gather="max(u.x for u -- self)", apply="max(x, a)"), ()),
    (loop(gather="max(u.x for u -- self)", apply="max(x, a)", type_="vertex", start="none"), ()),
    (loop(gather="min(u.x for u -- self)", type_="float"), ()),
    (loop(gather="bitor(u.x for u -- self)", apply="x | a", type_="u16"), ()),
    (loop(gather="bitand(u.x for u -- self)", apply="x & a", type_="u64"), ()),
    (loop(gather="any(u.x for u -- self)", apply="x or a", type_="bool", start="false"), ()),
    (loop(gather="all(u.x for u -- self)", apply="x and a", type_="bool", start="false"), ()),
    (loop(more="activate when changed(x)"), ()),
    (loop(more="activate when x < old(x)"), ()),
])
def test_granted(text: str, marks: tuple[str, ...]) -> None:
    verdict = loop_of(text).copied
    assert verdict.granted, verdict.reason
    assert verdict.marks == marks


@pytest.mark.parametrize(("text", "letter", "reason"), [
    (loop("repeat 3 times"), "c", "counted"),
    (loop("repeat at most 3 times"), "c", "counted"),
    (loop("repeat until all(v.x > 3 for v in vertices)"), "t", "stops on a tolerance"),
    (loop(more="activate when x < old(x) - 1"), "t", "stops on a tolerance"),
    (loop(gather="min(u.x + 1 for u -- self)"), "", "not `u.x` as it is"),
    (loop(gather="min(u.y for u -- self)"), "", "not `u.x` as it is"),
    (loop(gather="min(x for u -- self)"), "", "not `u.x` as it is"),
    (loop(gather="min(u.x for u -- self if u.x > k)"), "", "leaves out edges"),
    (loop(gather="min(u.x for u -- self if u > self)"), "", "leaves out edges"),
    (loop(gather="min(u.x for u -- self, default = 0)"), "g", "more than a plain gather"),
    (loop(gather="max(u.x for u -- self)"), "g", "more than a plain gather"),
    (loop(apply="min(x, a, y)"), "g", "more than a plain gather"),
    (loop(apply="a"), "r", "recomputed"),
    (loop(gather="sum(u.x for u -- self)", apply="x ^ a"), "s", "not idempotent"),
    (loop(more="apply  y = min(y, a)"), "w", "more than one write"),
    (loop(more="apply  x = min(x, y)"), "w", "more than one write"),
    (loop(first="gather b = min(u.y for u -- self)"), "", "more than one gather"),
    (loop(first="let b = min(v.x for v in vertices)"), "", "more than one gather"),
    (loop("where y > 0:\n  repeat").replace("    gather", "        gather").replace("    apply", "        apply"), "",
     "`where` around the loop"),
    (loop().replace("    apply  x", "    where y > 0:\n        apply  x"), "", "a `where` leaves out vertices"),
    (loop(type_="f16"), "", "not `u.x` as it is"),  # it is read as an f32
    (loop(type_="int[3]"), "", "not one machine word"),
    ("reduction least(a, b): int = min(a, b), identity inf\nvertex x: int = 1\nrepeat:\n"
     "    gather a = least(u.x for u -- self)\n    apply x = least(x, a)\n", "", "declared reduction"),
    ("vertex x, y: int = 1\nrepeat:\n    gather a = min((u.x, u.y) for u -- self)\n    apply (x, y) = min((x, y), a)\n",
     "", "not `u.x` as it is"),
])
def test_refused(text: str, letter: str, reason: str) -> None:
    verdict = loop_of(text).copied
    assert not verdict.granted
    assert (verdict.letter, reason in verdict.reason) == (letter, True), verdict


GRANTED = {"bipartite:6", "components:6"}

REFUSED = {
    "c": {"belief:11", "cdlp:6", "cf:7", "soft_reach:9"},
    "t": {"circuit:9", "heat:7", "hits:7", "katz:6", "linbp:7", "neural:7", "pagerank:6", "rwr:8"},
    "s": {"pagerank_delta:8", "php:10"},
    "i": {"scc:6"},
    "w": {"components_jump:6", "hyperanf:7", "mis:9", "radius:7"},
    "g": {"kcore:6", "kcore_members:6", "kcore_peel:8"},
    "where": {"coloring:7", "scc:11", "scc:15"},
    "as it is": {"betweenness:11", "bfs:6", "bfs_tree:7", "bipartite:12", "closeness:8", "sssp:9", "sssp_tree:10",
                 "sswp:7", "viterbi:9"},
}


def test_design_programs() -> None:
    found: dict[str, str] = {}
    for path in sorted(PROGRAMS.glob("*.vp")):
        facts = analyse(lower(check(parse(path.read_text(encoding="utf-8"), path.name))))
        for one, fact in facts.loops.items():
            key, verdict = f"{path.stem}:{one.span.line}", fact.copied
            if verdict.granted:
                assert key in GRANTED, key
            elif verdict.letter:
                found[key] = verdict.letter
            else:
                found[key] = next(words for words in ("where", "as it is") if words in verdict.reason)
    assert found == {key: why for why, keys in REFUSED.items() for key in keys}

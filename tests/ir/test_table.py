"""The verdicts agree with the table of language.md section 11, for every loop of the 36 programs of the design."""

from __future__ import annotations

from pathlib import Path

import pytest

from vlang.check import check, parse
from vlang.ir.facts import EarlyExit, LoopFacts, Verdict, analyse
from vlang.ir.forms import forms as f
from vlang.ir.forms.visible import statements
from vlang.ir.lower import lower

PROGRAMS = Path(__file__).parent.parent / "reference" / "design"

TABLE = """
| belief:11 | counted | no c | no g | yes | - | - | - |
| betweenness:11 | fixpoint | yes | yes | yes | X2 | insert | - |
| bfs:6 | fixpoint | yes | yes | yes | X2 | insert | - |
| bfs_tree:7 | fixpoint | yes | yes | yes | - | insert | - |
| bipartite:6 | fixpoint | yes | yes | yes | - | insert | - |
| bipartite:12 | fixpoint | yes | yes | yes | X2 | insert | - |
| cdlp:6 | counted | no c | no g | yes (+self) | - | - | - |
| cf:7 | counted | no c | no g | yes (+self) | - | - | - |
| circuit:9 | tolerance | no t | no t | yes (tol) | - | - | - |
| closeness:8 | fixpoint | yes | yes | yes | X2 | insert | - |
| coloring:7 | fixpoint | no r | no g | yes (+self) | X1: `all` | - | - |
| components:6 | fixpoint | yes | yes | yes | - | insert | - |
| components_jump:6 | fixpoint | no w | no w | no f | - | - | - |
| heat:7 | tolerance | no t | no t | yes (+self, tol) | - | - | - |
| hits:7 | tolerance | no t | no g | no v | - | - | no v |
| hyperanf:7 | fixpoint | no r | no g | no v | - | - | - |
| katz:6 | tolerance | no t | no g | yes | - | - | yes |
| kcore:6 | fixpoint | yes | no g | yes | - | delete | - |
| kcore_members:6 | fixpoint | yes | no g | yes | X1: not once `alive` is false | delete | - |
| kcore_peel:8 | fixpoint | yes | no g | yes | X1: not once `alive` is false | delete | - |
| linbp:7 | tolerance | no t | no g | yes (+self) | - | - | - |
| mis:9 | fixpoint | yes | no g | yes | X1: not once `chosen` is true, `excluded` is true; `all`; `any` | - | - |
| neural:7 | tolerance | no t | no t | yes (tol) | - | - | - |
| pagerank:6 | tolerance | no t | no g | no v | - | - | no v |
| pagerank_delta:8 | delta | yes | yes | yes | - | insert and delete | - |
| php:10 | delta | yes | yes | yes | - | insert and delete | - |
| radius:7 | fixpoint | no r | no g | no v | X1: `bitor` | - | - |
| rwr:8 | tolerance | no t | no g | no v | - | - | no v |
| scc:6 | tolerance | no i | no i | no i | - | - | - |
| scc:11 | fixpoint | yes | yes | yes | - | insert | - |
| scc:15 | fixpoint | yes | yes | yes | X1: not once `mine` is true; `any` | insert | - |
| soft_reach:9 | counted | no c | no s | yes (+self) | - | - | - |
| sssp:9 | fixpoint | yes | yes | yes | - | insert | - |
| sssp_tree:10 | fixpoint | yes | yes | yes | - | insert | - |
| sswp:7 | fixpoint | yes | yes | yes | - | insert | - |
| viterbi:9 | fixpoint | yes | yes | yes | - | insert | - |
"""

EXPECTED = {cells[0]: cells[1:] for cells in
            ([cell.strip() for cell in line.strip("|").split("|")] for line in TABLE.strip().splitlines())}


def verdicts(name: str) -> dict[str, list[str]]:
    """Return the verdicts on one program as rows of the table."""
    text = (PROGRAMS / f"{name}.vp").read_text(encoding="utf-8")
    facts = analyse(lower(check(parse(text, f"{name}.vp"))))
    return {f"{name}:{loop.span.line}": row(fact) for loop, fact in facts.loops.items()}


def row(loop: LoopFacts) -> list[str]:
    skip = said(loop.notify_pull)
    if loop.notify_pull.marks:
        skip += f" ({', '.join(loop.notify_pull.marks)})"
    reductions = {s.name: s.reduce.name for s in statements(loop.loop.body) if isinstance(s, f.Gather)}
    derive = said(loop.derive) if loop.derive.granted or loop.derive.letter else "-"
    return [loop.kind, said(loop.order), said(loop.push), skip, exits(loop.early_exit, reductions),
            " and ".join(loop.incremental.marks) or "-", derive]


def said(verdict: Verdict) -> str:
    return "yes" if verdict.granted else f"no {verdict.letter}"


def exits(found: EarlyExit, reductions: dict[str, str]) -> str:
    if found.frontier.granted:
        return "X2"
    done = ", ".join(f"`{name}` is {str(value).lower()}" for name, value in found.done.items())
    parts = ([f"not once {done}"] if done else []) + [f"`{reductions[name]}`" for name in found.gathers]
    return f"X1: {'; '.join(parts)}" if parts else "-"


@pytest.mark.parametrize("name", sorted(path.stem for path in PROGRAMS.glob("*.vp")))
def test_verdicts(name: str) -> None:
    expected = {key: cells for key, cells in EXPECTED.items() if key.split(":")[0] == name}
    assert verdicts(name) == expected


def test_every_row_is_tested() -> None:
    stems = {path.stem for path in PROGRAMS.glob("*.vp")}
    assert len(EXPECTED) == 36
    assert {key.split(":")[0] for key in EXPECTED} <= stems
    assert stems - {key.split(":")[0] for key in EXPECTED} == {"lcc", "spmv", "triangles"}

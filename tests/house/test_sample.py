"""The parts of long lists that every run of the tests takes, and the rest of these lists, which only `make nightly`
takes.
"""

from __future__ import annotations

import re
from pathlib import Path

from tests.reference.cases import MORE, STDLIB
from tests.sample import EACH_KIND
from vlang import load

ROOT = Path(__file__).parents[2]


def kinds_of(name: str) -> set[str]:
    """Return the kinds of kernels of a program, and the rules and reductions of its loops."""
    program = load(name)
    given = frozenset(field.name for field in program.fields if field.required)
    plan = program.plan(frozenset(edge.name for edge in program.edges), given)
    found = {re.sub(r"\d+", "", kernel) for kernel in plan.exports}
    for loop in program.stages().facts.loops.values():
        found |= {f"rule {rule}" for rule in ("order", "push", "notify_pull", "incremental", "priority", "derive",
                                              "single_assignment", "copied") if getattr(loop, rule).granted}
        found |= {f"order {loop.order.reason.partition(':')[0]}"} if loop.order.granted else set()
    return found | set(re.findall(r"\b(sum|prod|min|max|mean|mode|mex|hindex|median|count|any|all|common|sweep)\(?\b",
                                  program.source))  # fmt: skip


def test_the_programs_of_every_run_have_each_kind_of_kernel_and_rule() -> None:
    every = {name: kinds_of(name) for name in (*STDLIB, *MORE)}
    missing = set().union(*every.values()) - set().union(*(every[name] for name in EACH_KIND))
    assert not missing, {kind: [name for name, kinds in every.items() if kind in kinds] for kind in missing}


def test_files_that_take_a_part_are_listed_for_nightly() -> None:
    listed = (ROOT / "tests/nightly.txt").read_text().split()
    texts = {path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8")
             for path in (ROOT / "tests").rglob("*.py")}  # fmt: skip
    taking = re.compile(r"^from tests\.sample import .*(EXHAUSTIVE|sampled)|^from .*assert_(cut_free|both)", re.M)
    parts = [path for path, text in texts.items() if "/test_" in path and taking.search(text)]
    missing = [path for path in parts if not any(path == one or path.startswith(f"{one}/") for one in listed)]
    assert len(parts) > 20
    assert not missing
    reading = [path for path, text in texts.items() if re.search(r'environ.*"VLANG_' + 'EXHAUSTIVE"', text)]
    assert reading == ["tests/sample.py"]

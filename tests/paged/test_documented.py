"""The table of docs/internals/streaming.md agrees with how every program of the library runs on streamed pages.

`.venv/bin/python -m tests.paged.test_documented` writes the table.
"""

from __future__ import annotations

import re
from pathlib import Path

from vlang import Graph, load, stdlib
from vlang.api.running.on_disk import keys_read, whole_lists
from vlang.options import Options
from vlang.runtime.cpu.ways.ways import WAYS
from vlang.runtime.engine.way import way_of
from vlang.runtime.gpu.ways import ways as gpu_ways
from vlang.runtime.graph.edges.shape import Shape
from vlang.runtime.plan.plan import LoopSpec, every_step

PAGE = Path(__file__).parents[2] / "docs" / "internals" / "streaming.md"
MARKS = r"(<!-- programs -->\n)(.*?)(<!-- end -->)"
SHOWN = {"connect": "components, one pass", "reach": "searches, the direction of fewer bytes",
         "push": "pushes, pages of active vertices", "supersteps": "full passes and notify-pull"}
SHOWN_ON_GPU = {"connected components": "components, one pass", "push": "pushes, pages of active vertices",
                "notify-pull": "full passes and notify-pull", "full passes": "full passes"}


def how(name: str) -> str:
    """Return the execution ways of the loops of a program on a directed graph with streamed edges."""
    program = load(name)
    line = whole_lists(program)
    if line is not None:
        return f"refused: `common` in line {line}"
    key = keys_read(program)
    if key is not None:
        return f"refused: `{key[1]}` in line {key[0]}"
    plan = program.plan(frozenset(edge.name for edge in program.edges))
    shape = Shape(1000, 5000, True, streamed=True)
    ways, connected = [], set()
    for step in every_step(plan.steps):
        if isinstance(step, LoopSpec):
            way = "" if step.nested else way_of(WAYS, step, shape, Options()).name
            ways.append(SHOWN.get(way, "full passes"))
            connected |= {stage.name for stage in step.stages} if way == "connect" else set()  # it reads in-edges only
    whole = "; rows as a whole" if any(stage.structures for stage in plan.stages) else ""
    both = "; both directions merged" if any(
        stage.domain == "both" and stage.name not in connected for stage in plan.stages) else ""
    return f"{'; '.join(dict.fromkeys(ways)) or 'full passes'}{whole}{both}"


def how_on_gpu(name: str) -> str:
    """Return the execution ways that the loops of a program may use on a GPU whose pages come from disk."""
    program = load(name)
    if whole_lists(program) is not None or keys_read(program) is not None:
        return "refused"
    plan = program.plan(frozenset(edge.name for edge in program.edges), target="cuda")
    directed = Graph.from_edges([0], [1])
    ways = ["full passes" if step.nested else
            SHOWN_ON_GPU[next(gpu_ways.candidates(gpu_ways.WAYS, step, directed, Options())).name]
            for step in every_step(plan.steps) if isinstance(step, LoopSpec)]
    return "; ".join(dict.fromkeys(ways)) or "full passes"


def table() -> str:
    """Return the rows of the table."""
    rows = [f"| {name} | {how(name)} | {how_on_gpu(name)} |\n" for name in stdlib.names()]
    return "| program | streamed to a CPU | to a GPU |\n| --- | --- | --- |\n" + "".join(rows)


def test_the_table_is_up_to_date() -> None:
    found = re.search(MARKS, PAGE.read_text(encoding="utf-8"), re.DOTALL)
    assert found is not None
    assert found[2] == table(), "write it anew: .venv/bin/python -m tests.paged.test_documented"


def test_few_programs_are_refused() -> None:
    for shown in (how, how_on_gpu):
        assert [name for name in stdlib.names() if shown(name).startswith("refused")] == [
            "adamic_adar", "jaccard", "lcc", "lcc_directed", "lcc_weighted", "louvain", "triangles"]


if __name__ == "__main__":
    PAGE.write_text(re.sub(MARKS, lambda found: found[1] + table() + found[3], PAGE.read_text(encoding="utf-8"),
                           flags=re.DOTALL), encoding="utf-8")

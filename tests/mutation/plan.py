"""The mutations to plant, and the tests that should detect each mutation. The mutations and the tests were fixed before
the first run.

For every mutation an operator is drawn first, and then one of its sites, so that frequent operators do not crowd out
other operators. The tests of a file are in the first row of TESTS whose path is a prefix of the file's path. The tests
run in this order until a test fails.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from pathlib import Path

from tests.mutation.operators import LOGIC, RACES, SITES, Site

__all__ = ["AREAS", "SEED", "TESTS", "Area", "drawn", "covering"]

SEED = 20261125


@dataclass(frozen=True)
class Area:
    """A part of the tree.

    Attributes:
        count: the number of mutations to draw.
        kind: a key of SITES.
        operators: the operators to choose from.
        files: patterns of file names.
    """

    name: str
    count: int
    kind: str
    operators: tuple[str, ...]
    files: tuple[str, ...]


AREAS = (
    Area("compiler", 10, "logic", LOGIC, (
        "vlang/check/**/*.py", "vlang/ir/**/*.py", "vlang/emit/*.py", "vlang/emit/shared/*.py",
        "vlang/emit/cpu/**/*.py", "vlang/emit/cuda/**/*.py")),
    Area("races", 10, "races", RACES, (
        "vlang/emit/cpu/skeletons/*.py", "vlang/emit/cpu/ways/push_text.py", "vlang/emit/cuda/skeletons/*.cuh",
        "runtime/kernels/*.py")),
    Area("engine", 4, "logic", LOGIC, ("runtime/engine/*.py", "runtime/cpu/**/*.py", "runtime/gpu/**/*.py")),
    Area("readers", 10, "logic", LOGIC, ("runtime/graph/read/*.py", "runtime/graph/formats/**/*.py",
                                         "runtime/convert/*.py", "runtime/storage/page_file/*.py")),
)
"""34 mutations: ten in the compiler, 14 in the engine with its kernels (ten of them races), and ten in the readers."""

_DERIVED = "tests/unchanged"
_ORDER = "tests/emit/test_synchronisation.py"
_LANGUAGE = ("tests/cpu/language/test_statements.py", "tests/cpu/reductions/test_reductions.py",
             "tests/cpu/language/test_loops.py", "tests/cpu/language/test_arguments.py",
             "tests/cpu/programs/test_stdlib.py", "tests/cpu/language/test_integers.py",
             "tests/cpu/language/test_vectors.py", "tests/cpu/reductions/test_user_reductions.py",
             "tests/cpu/language/test_nesting.py", "tests/fuzz")
_WAYS = ("tests/cpu/ways/test_push.py", "tests/cpu/ways/test_reach.py", "tests/cpu/ways/test_priority.py",
         "tests/cpu/ways/test_sums.py")
_CPU = (*_WAYS, "tests/cpu/programs/test_stdlib.py", "tests/cpu/kernels/test_engine_cuts.py",
        "tests/cpu/kernels/test_contended.py", "tests/paged/test_streamed.py", "tests/cpu")
_GPU = ("tests/emit/test_layouts.py", "tests/cuda/kernels/test_atomics.py", "tests/cuda/kernels/test_operators.py",
        "tests/cuda/kernels/test_pull_kernels.py", "tests/cuda/kernels/test_sparse_kernels.py",
        "tests/cuda/programs/test_engine.py", "tests/cuda/emulation/test_sanitizers.py", "tests/cuda")
_PAGES = ("tests/page_file/test_form.py", "tests/page_file/test_damage.py", "tests/page_file/test_convert.py",
          "tests/page_file", "tests/paged", "tests/cli/test_streams.py")

TESTS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("vlang/check/laws", ("tests/check/test_laws.py", _DERIVED, "tests/check",
                          "tests/cpu/reductions/test_user_reductions.py")),
    ("vlang/check", (_DERIVED, "tests/check/test_mistakes.py", "tests/check/test_correct.py", "tests/check", "tests/ir",
                     "tests/docs/test_diagnostics.py", "tests/tools", *_LANGUAGE)),
    ("vlang/ir", (_DERIVED, "tests/ir", "tests/emit", *_LANGUAGE, "tests/cpu/rules/test_chaos.py",
                  "tests/cpu/reductions/test_infinite_sums.py", "tests/cpu", "tests/api",
                  "tests/cuda/kernels/test_kernel_choice.py")),
    ("vlang/emit/cpu/skeletons/paged", (_ORDER, "tests/paged", *_CPU)),
    ("vlang/emit/cpu/ways", (_DERIVED, "tests/emit/test_push.py", *_CPU)),
    ("vlang/emit/cpu/skeletons", (_ORDER, *_CPU)),
    ("vlang/emit/cuda/skeletons", (_ORDER, *_GPU)),
    ("vlang/emit/cuda", (_DERIVED, "tests/emit", *_GPU)),
    ("vlang/emit", (_DERIVED, "tests/emit", *_LANGUAGE, "tests/cuda/kernels/test_operators.py", "tests/cpu",
                    "tests/cuda")),
    ("runtime/kernels/crew.py", (_ORDER, "tests/devices/test_crew.py", *_CPU, "tests/faults")),
    ("runtime/kernels/paged", (_ORDER, "tests/paged", *_CPU)),
    ("runtime/kernels", (_ORDER, "tests/cpu/rules/test_copied.py", *_CPU)),
    ("runtime/cpu/paged", ("tests/paged", *_CPU)),
    ("runtime/cpu", (*_CPU, "tests/api", "tests/faults")),
    ("runtime/gpu", ("tests/cuda/kernels/test_kernel_choice.py", "tests/cuda/pages/test_topology.py", *_GPU,
                     "tests/devices")),
    ("runtime/engine", ("tests/cpu/language/test_loops.py", "tests/cpu/language/test_nesting.py", "tests/checkpoints",
                        *_CPU, "tests/api")),
    ("runtime/convert", ("tests/page_file/test_convert.py", *_PAGES)),
    ("runtime/storage/page_file", _PAGES),
    ("runtime/graph/formats/npz", ("tests/graph/reading/test_npz.py", "tests/graph/reading/test_npz_damaged.py",
                              "tests/graph", "tests/page_file")),
    ("runtime/graph", ("tests/graph/reading/test_formats.py", "tests/graph/reading/test_errors.py",
                       "tests/graph/reading/test_columns.py", "tests/columns", "tests/graph",
                       "tests/cli/test_reading.py", "tests/cli/test_columns.py", "tests/cli/test_streams.py",
                       "tests/api/test_edge_columns.py",
                       *_PAGES)),
)


def drawn(root: Path, seed: int = SEED) -> list[Site]:
    """Return distinct mutations of a tree. AREAS has the number of mutations for each area."""
    chance, found = random.Random(seed), []
    for area in AREAS:
        by_operator = _sites(root, area)
        chosen: list[Site] = []
        while len(chosen) < area.count:
            site = chance.choice(by_operator[chance.choice([name for name in area.operators if by_operator[name]])])
            if site not in chosen:
                chosen.append(site)
        found += chosen
    return found


def _sites(root: Path, area: Area) -> dict[str, list[Site]]:
    """Return the sites of an area by operator. The sites of an operator are in the order of paths."""
    found: dict[str, list[Site]] = {name: [] for name in area.operators}
    paths = sorted({path for pattern in area.files for path in root.glob(pattern)})
    for path in paths:
        logic_in_kernels = area.kind == "logic" and "skeletons" in path.parts
        if not logic_in_kernels:
            for site in SITES[area.kind](path.relative_to(root).as_posix(), path.read_text(encoding="utf-8")):
                found[site.operator].append(site)
    return found


def covering(path: str) -> tuple[str, ...]:
    """Return the tests that should detect a mutation of a file, in order."""
    return next(tests for start, tests in TESTS if path.startswith(start))

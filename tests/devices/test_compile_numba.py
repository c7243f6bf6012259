"""The compiler of kernels: its requirements on the Python interpreter, and the modules that it loads."""

from __future__ import annotations

import ast
import gc
import operator
import resource
import subprocess
import sys
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numba
import pytest
from numba.core import ir, typed_passes, untyped_passes
from numba.core.errors import termcolor
from numba.core.typing.npydecl import NumpyRulesArrayOperator

import vlang
from vlang import load
from vlang.errors import InternalError
from vlang.runtime.compile import compile_numba, front_end, shortcuts, sources
from vlang.runtime.compile.compile_numba import Compiler, _with_room
from vlang.runtime.compile.lean_passes import Canonical, ConstantIndices, LeanLowering, LeanSSA, LeanStripPhis
from vlang.runtime.compile.llvm import in_haste
from vlang.runtime.compile.objects import load_kernels
from vlang.runtime.compile.sources import modules_of, sources_digest

_ROOT = Path(vlang.__file__).parent
_TEXTS = [*(_ROOT / "runtime/kernels").glob("*.py"),
          *(_ROOT / "runtime/graph/kernels").glob("*.py")]  # the last folder has what the others import from it


def _leaf(value: int) -> int:
    return value + 1


def _deep(depth: int) -> int:
    """Call a function in a loop, at recursion depth `depth`."""
    if depth:
        return _deep(depth - 1)
    total = 0
    for i in range(2_000):
        total = _leaf(total + i)
    return total


def _faults() -> int:
    """Return the number of page faults of this process during calls of a function in a loop, at every recursion depth.
    """
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for depth in range(200):
        _deep(depth)
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before


def test_calls_far_down_map_no_memory() -> None:
    _with_room(_faults)  # the first call touches the reserved stack itself
    assert _with_room(_faults) < 300  # without the reserved stack there are about two thousand


@pytest.mark.parametrize("collecting", [True, False])
def test_garbage_is_collected_afterwards_as_before(collecting: bool) -> None:
    compiler = Compiler("def one(out, n):\n    out[0] = n\n\n\ndef wrong(out, n):\n    out[0] = missing\n")
    args = ("i64*", "i64")
    try:
        if not collecting:
            gc.disable()
        assert compiler.object_code("one", "void", args, "one")
        with pytest.raises(InternalError):
            compiler.object_code("wrong", "void", args, "wrong")
        assert gc.isenabled() == collecting
    finally:
        gc.enable()


def _path(module: str) -> Path:
    path = _ROOT.parent.joinpath(*module.split("."))
    return path / "__init__.py" if path.is_dir() else path.with_suffix(".py")


def _imports(path: Path) -> set[str]:
    """Return the modules of the project that a file imports at its top level."""
    named: list[str] = []
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.ImportFrom):
            named += [f"{node.module}.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Import):
            named += [alias.name for alias in node.names]
    found = set()
    for name in named:
        if name.startswith("vlang."):
            while not _path(name).is_file():
                name = name.rpartition(".")[0]
            found.add(name)
    return found


@pytest.mark.parametrize("path", [path for path in _TEXTS if path.name != "__init__.py"], ids=lambda path: path.stem)
def test_object_code_depends_on_what_its_text_and_the_compiler_import(path: Path) -> None:
    waiting = {"vlang.runtime.compile.compile_numba", *_imports(path)}
    known: set[str] = set()
    while waiting - known:
        module = min(waiting - known)
        known.add(module)
        waiting |= _imports(_path(module))
    found = modules_of(path.read_text(encoding="utf-8"))
    assert set(found) == known


def test_program_text_depends_on_every_layout_and_the_compiler() -> None:
    found = set(modules_of(vlang.load("bfs").plan(frozenset()).text))
    layouts = {f"vlang.runtime.plan.layouts.{name}_words" for name in ("meet", "order", "pass", "reach", "sum")}
    compiler = {f"vlang.runtime.compile.{name}"
                for name in ("compile_numba", "front_end", "intrinsics", "lean_passes", "llvm", "shortcuts")}
    assert layouts | compiler | {"vlang.runtime.plan.plan"} <= found


def test_a_changed_module_changes_the_digest(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "from vlang.runtime.plan.layouts.meet_words import *\n"
    plain, read = sources_digest(text), sources._text
    sources._digest.cache_clear()
    assert sources_digest(text) == plain
    for changed in ("vlang.runtime.plan.layouts.meet_words", "vlang.runtime.compile.front_end"):
        sources._digest.cache_clear()
        monkeypatch.setattr(sources, "_text", lambda name, at=changed: read(name) + ("#" if name == at else ""))
        assert sources_digest(text) != plain
    monkeypatch.undo()
    sources._digest.cache_clear()


def test_kernels_are_compiled_although_numba_is_told_not_to(monkeypatch: pytest.MonkeyPatch) -> None:
    """Kernels are compiled even with NUMBA_DISABLE_JIT. With NUMBA_DISABLE_JIT, numba's decorators return Python
    functions, which the engine cannot call.
    """
    monkeypatch.setattr(numba.config, "DISABLE_JIT", 1)
    code = Compiler("def put(p):\n    p[0] = 1\n").object_code("put", "void", ("i64*",), "put_1")
    assert b"put_1" in code
    assert numba.config.DISABLE_JIT == 1


def _object_code(text: str) -> bytes:
    return Compiler(text).object_code("kernel", "i64", ("u32*", "f64*", "i64"), "kernel_1")


def test_shortcuts_change_no_machine_code(monkeypatch: pytest.MonkeyPatch) -> None:
    """The object code has the same bytes as with all of numba's own passes and rules."""
    monkeypatch.setenv("VLANG_HASTE", "")
    text = """import numpy as np
from vlang.runtime.compile.intrinsics import *

@inner
def sum_of(values, ends, begin, end, unused):
    total, seen = 0.0, 0
    for i in range(begin, end):
        if ends[i] % 3 != 0 or i == 7:
            total = total + values[ends[i]] * 2
            if i % 5 == 0:
                last = np.uint32(i)
                ends[last] = np.uint32(seen)
                last = values[i] * 0.5
                values[i] = last
            seen += 1
    return total, -seen if total < 0.5 else seen

def kernel(ends, values, n):
    found = 0
    while True:
        bounds = found, min(n, found + 4)
        both = sum_of(values, ends, *bounds, None)
        total, seen = both[0], both[1]
        values[found] = max(total, 1.0) if seen > 2 else total // 2
        found += 1 + abs(seen)
        if found >= n:
            break
    return found
"""
    lean = _object_code(text)
    originals = {Canonical: (untyped_passes.IRProcessing,), ConstantIndices: (untyped_passes.GenericRewrites,),
                 LeanSSA: (untyped_passes.ReconstructSSA,), LeanStripPhis: (typed_passes.PreLowerStripPhis,),
                 LeanLowering: (typed_passes.IRLegalization, typed_passes.NativeLowering)}
    passes = [(whole, name) for one, name in front_end._PASSES for whole in originals.get(one, (one,))]
    monkeypatch.setattr(front_end, "_PASSES", tuple(passes))
    monkeypatch.delattr(front_end._Library, "_optimize_functions")
    monkeypatch.setattr(compile_numba, "shortcuts", nullcontext)
    front_end._passes.cache_clear()
    try:
        assert _object_code(text) == lean
    finally:
        front_end._passes.cache_clear()


def test_a_shortcut_finds_all_variables_of_a_statement() -> None:
    loc = ir.Loc("kernels", 1)
    a, b, c = (ir.Var(None, name, loc) for name in "abc")
    added = ir.Expr.binop(operator.add, a, b, loc)
    for fields in ({"value": [a, ("x", b)]}, {"value": added, "more": {"deep": (3, c)}}, [c]):
        statement = ir.Inst()
        assert shortcuts._variables(statement, fields) == statement._rec_list_vars(fields) != []


def test_haste_is_for_tests_and_spares_every_eighth_program(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "import numpy as np\nfrom vlang.runtime.plan.plan import *\n" \
           "def put(p, n):\n    for i in range(n):\n        p[i] += 1\n"
    programs = [f"{text}# {number}\n" for number in range(400)]
    monkeypatch.setenv("VLANG_HASTE", "1")
    hasty = [one for one in programs if in_haste(one)]
    assert 330 < len(hasty) < 370
    assert not in_haste(text.replace("plan.plan", "compile.intrinsics"))
    pagerank = load("pagerank").plan(frozenset()).text
    assert any(in_haste(f"{pagerank}# {number}\n") for number in range(9))

    def made() -> bytes:
        return Compiler(hasty[0]).object_code("put", "void", ("i64*", "i64"), "put_1")

    little, key = made(), load_kernels(hasty[0], {"put": "void(i64*, i64)"})
    monkeypatch.delenv("VLANG_HASTE")
    assert not any(map(in_haste, programs))
    assert len(made()) > len(little)  # the loop is vectorised and unrolled
    assert load_kernels(hasty[0], {"put": "void(i64*, i64)"}) is not key


def test_shortcuts_end_with_a_compilation() -> None:
    """Other code of the process that uses numba gets numba's own rules and colours."""
    rule, message = NumpyRulesArrayOperator.generic, termcolor().errmsg("wrong")
    with pytest.raises(InternalError, match="missing") as failed:
        Compiler("def wrong(out):\n    out[0] = missing\n").object_code("wrong", "void", ("i64*",), "wrong")
    assert "\x1b" not in str(failed.value)
    with pytest.raises(InternalError, match=r'During: typing of .*\(2\)'):
        Compiler("def wrong(out):\n    out[0] = out + 'a'\n").object_code("wrong", "void", ("i64*",), "wrong")
    assert NumpyRulesArrayOperator.generic is rule
    assert termcolor().errmsg("wrong") == message


def test_products_of_matrices_work_although_kernels_load_no_scipy() -> None:
    """numba asks for a BLAS at the first product of matrices, and not when the compiler of kernels is loaded."""
    lines = ("import sys", "import numba, numpy", "from vlang.runtime.compile.compile_numba import Compiler",
             "Compiler('def put(p):\\n    p[0] = 1\\n').object_code('put', 'void', ('i64*',), 'put')",
             "assert 'scipy.linalg' not in sys.modules", "two = 2 * numpy.eye(2)",
             "assert (numba.njit(lambda a: a @ a)(two) == 2 * two).all()")  # fmt: skip
    subprocess.run([sys.executable, "-c", "\n".join(lines)], check=True)


def test_a_function_of_several_texts_is_typed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same function is compiled once for all texts. A function that reads or calls something else counts as another
    function.
    """
    text = """from vlang.runtime.compile.intrinsics import *

STEP = {step}

@inner
def far(x):
    return x {sign} STEP

@inner
def near(x):
    return far(x) * 3

def kernel(ends, values, n):
    return near(n)
"""
    typed: list[str] = []
    plain = typed_passes.NativeLowering.run_pass

    def run_pass(self: typed_passes.NativeLowering, state: Any) -> bool:
        typed.append(state.func_id.func_name)
        return bool(plain(self, state))

    monkeypatch.setattr(typed_passes.NativeLowering, "run_pass", run_pass)
    kinds = (77, "+"), (77, "+"), (78, "+"), (77, "-")
    codes = [_object_code(text.format(step=step, sign=sign)) for step, sign in kinds]
    assert typed == [*("far", "near", "kernel"), "kernel", *("far", "near", "kernel") * 2]
    assert codes[0] == codes[1]
    assert len(set(codes)) == 3

"""NVRTC compiles every GPU text for four architectures without a warning. The compilation needs no GPU."""

from __future__ import annotations

import functools
import io
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from hypothesis import Phase, given, seed, settings

from tests.cpu.edge_states import PROGRAMS
from tests.cpu.language import names
from tests.cpu.reductions.test_grouped import KEYS
from tests.cpu.reductions.wholes import BESIDE, KCORE, all_types
from tests.reference.cases import STDLIB
from tests.reference.generators.programs import Generated, programs
from tests.sample import EXHAUSTIVE, sampled
from vlang import Options, Program, ProgramError, compile, load
from vlang.emit import cuda
from vlang.runtime.compile.nvrtc import whole_source
from vlang.runtime.gpu.kernels import calibrate
from vlang.runtime.gpu.kernels.entries import (
    EXCHANGE_PREPARATIONS,
    EXCHANGE_SIGNATURES,
    PREPARATIONS,
    SIGNATURES,
    entry,
)
from vlang.runtime.gpu.kernels.row_lengths import LANES
from vlang.runtime.gpu.kernels.sparse_layout import SPARSE_PREPARATIONS, SPARSE_SIGNATURES
from vlang.runtime.gpu.passes import rates
from vlang.runtime.gpu.ways.bitmaps import bitmap_kernels
from vlang.runtime.gpu.ways.gpu_components import connect_kernels
from vlang.runtime.gpu.ways.notifying import notifying_kernels
from vlang.runtime.gpu.ways.paged import chosen_kernels
from vlang.runtime.gpu.ways.pushing import by_priority, pushing_kernels
from vlang.runtime.gpu.ways.relay import relay_kernel, relays
from vlang.runtime.plan.plan import Plan, StageSpec

core = pytest.importorskip("cuda.core", reason="cuda-core, which calls NVRTC without a GPU, is not installed")
pytest.importorskip("cuda.bindings.nvrtc", reason="NVRTC is not installed")

Kernel = tuple[str, str, tuple[int, ...]]  # template, struct, constants

ARCHITECTURES = ("sm_75", "sm_80", "sm_90", "sm_100")
EVERYWHERE = ("pagerank",)  # programs compiled for all architectures
WIDE = ("bfs_tree", "katz")  # programs also compiled in 64 bits
PLAIN = ("sssp", "pagerank", "spmv")
DESIGN = Path(__file__).parents[2] / "reference" / "design"  # the programs of the specification
SPECIFIED = sorted({path.stem for path in DESIGN.glob("*.vp")} - set(STDLIB))
USUAL = ("bfs", "components", "katz", "kcore_members", "pagerank", "spmv", "sssp", "sssp_tree")
SEED, CORPUS = 20261121, 24 if EXHAUSTIVE else 8
# Kernels over queues, in which ptxas spills a few registers, but no array:
WALKS = ("traverse", "traverse_few", "traverse_peers", "relay", "push_slice", "push_part", "push_marked",
         "push_found")
CHOSEN = Options(page_order="values", loaded="twice")
_IN_VAIN = 186  # warning: a comparison has a constant result, which a program may contain
_SPILLED = 32  # bytes: the compiler spills a few registers to run more warps; an array would be larger
_FRAME_SIZES = re.compile(r"for (\w+)\s+ptxas[ .]+(\d+) bytes stack frame, (\d+) bytes spill stores")


# ------------------------------------------------------------------------------------------------------------ kernels
def kernels_of_stage(stage: StageSpec) -> Iterator[Kernel]:
    """Yield every kernel with which a pass may be launched."""
    gpu = stage.gpu
    assert gpu is not None
    if stage.domain is None:
        yield "compute", gpu.struct, ()
        return
    if stage.structures:
        names = ["segments_whole", "finish_whole", *(["messages"] if "messages" in stage.kernels else [])]
        yield from ((name, gpu.struct, ()) for name in names)
        yield from (("pull_whole", gpu.struct, (lanes,)) for lanes in LANES)
        listed = notifying_kernels(stage, 0, 1) if stage.notify is not None else []
        yield from (kernel for kernel in listed if kernel[1])
        return
    templates = ["pull_thread", "pull_segmented", "pull_stream", "segments", "finish", "finish_list"]
    templates += ["pull_shards", "clear_listed", "apply_listed"] if gpu.cell else []
    yield from (("join_listed", gpu.struct, (ends,)) for ends in range(3) if gpu.cell)
    templates += ["messages", "messages_list"] if "messages" in stage.kernels else []
    yield from ((template, gpu.struct, ()) for template in templates)
    yield from (("pull_lanes", gpu.struct, (lanes,)) for lanes in LANES)
    if gpu.together is not None:
        yield from ((name, gpu.struct, ()) for name in ("rows_woven", "segments_woven"))
        yield from (("pull_woven", gpu.struct, constants) for constants in ((0, 8), (1, 1), (2, 1)))
    yield from sparse_kernels_of(stage)


def sparse_kernels_of(stage: StageSpec) -> Iterator[Kernel]:
    """Yield the kernels over lists and, if the pass pushes, over frontiers."""
    assert stage.gpu is not None
    if stage.gpu.push:
        for reading in ("rows", "pages", "either"):
            yield from (kernel for kernel in pushing_kernels(stage, reading) if kernel[1])
        yield from (kernel for priority in {0, by_priority(stage)} for kernel in chosen_kernels(stage, priority, CHOSEN)
                    if kernel[1])
        if stage.gpu.push == "direct" and "messages" not in stage.kernels:
            yield "traverse_few", stage.gpu.struct, ()
        if stage.gpu.push == "direct":
            yield from (kernel for kernel in bitmap_kernels(stage) if kernel[1])
        if by_priority(stage):
            yield "sift_far", stage.gpu.struct, ()
        yield "traverse_peers", stage.gpu.struct, (by_priority(stage), 32)
    if stage.notify is not None:
        yield from (("pull_list", stage.gpu.struct, (lanes,)) for lanes in (2, 32))
        yield from (kernel for kernel in notifying_kernels(stage, 0, 1) if kernel[1] and kernel[0] != "pull_list")


def kernels_of(plan: Plan) -> list[Kernel]:
    """Return every kernel of a plan."""
    found = [kernel for stage in plan.stages for kernel in kernels_of_stage(stage)]
    found += [relay_kernel(loop, 4, 1) for loop in plan.loops if relays(loop)]
    for scalar in plan.values:
        found.append(("scalar", f"v{scalar.index}", ()))
        folding = ("fold", "fold_scalar") if scalar.fold is not None else ()
        found += [(template, f"v{scalar.index}", ()) for template in folding]
    for loop in plan.loops:
        found += connect_kernels(plan, loop.copied) if loop.copied is not None else []
    return list(dict.fromkeys(found))


def log_of(
    text: str, kernels: Sequence[Kernel], architecture: str, ptxas: str | None = None, optimised: bool = False
) -> str:
    """Return the messages of NVRTC. Raises an error if NVRTC rejects the text.

    Args:
        optimised: whether to compile as for a run. Optimisation triples the time and only makes the machine code
            faster.
    """
    entries = dict(entry(template, struct, *constants) for template, struct, constants in kernels)
    return _log(whole_source(text, entries), architecture, ptxas, optimised)


def _log(source: str, architecture: str, ptxas: str | None = None, optimised: bool = False) -> str:
    log = io.StringIO()
    fast = None if optimised or ptxas else "max"
    options = core.ProgramOptions(arch=architecture, std="c++17", fma=False, ptxas_options=ptxas, ofast_compile=fast,
                                  diag_suppress=_IN_VAIN)
    program = core.Program(source, "c++", options)
    try:
        made = program.compile("cubin", logs=log)
    finally:
        program.close()
    assert len(made.code) > 0
    return log.getvalue().strip("\0\n ")


def plan_of(program: Program, columns: bool = True) -> Plan:
    """Return a program's plan for graphs with all edge fields of the program, or with the required edge fields only."""
    edges = frozenset(edge.name for edge in program.edges if columns or edge.required)
    return program.plan(edges, frozenset(f.name for f in program.fields if f.required), target="cuda")


# ----------------------------------------------------------------------------------------------------------- programs
@pytest.mark.parametrize("name", sampled(STDLIB, USUAL))
def test_program_of_the_standard_library(name: str) -> None:
    plan = plan_of(load(name))
    everywhere = name in EVERYWHERE
    for architecture in ARCHITECTURES if everywhere else (ARCHITECTURES[STDLIB.index(name) % 4],):
        assert log_of(plan.text, kernels_of(plan), architecture, optimised=everywhere) == ""


@pytest.mark.parametrize("name", WIDE)
def test_program_in_64_bits(name: str) -> None:
    plan = plan_of(load(name, precision=64))
    assert log_of(plan.text, kernels_of(plan), ARCHITECTURES[WIDE.index(name)]) == ""


@pytest.mark.parametrize("name", sampled(SPECIFIED, SPECIFIED[::7]))
def test_program_of_the_specification(name: str) -> None:
    program = load(DESIGN / f"{name}.vp")
    try:
        program.plan(frozenset(edge.name for edge in program.edges), frozenset())
    except ProgramError:  # not supported on a CPU yet, so not on a GPU
        with pytest.raises(ProgramError, match="V401"):
            plan_of(program)
        return
    plan = plan_of(program)
    assert log_of(plan.text, kernels_of(plan), "sm_90") == ""


def test_programs_of_names_that_c_or_cuda_uses() -> None:
    for number, (text, _) in enumerate(names.programs()):
        plan = plan_of(compile(text))
        kernels = [kernel for k, kernel in enumerate(kernels_of(plan)) if k % 10 == number]
        assert log_of(plan.text, kernels, ARCHITECTURES[number % 4]) == "", text


@functools.cache
def corpus() -> tuple[Generated, ...]:
    """Return random programs. Runs with the same version of hypothesis draw the same programs."""
    found: list[Generated] = []

    @seed(SEED)
    @settings(max_examples=CORPUS, deadline=None, database=None, phases=(Phase.generate,))
    @given(programs())
    def collect(drawn: Generated) -> None:
        found.append(drawn)

    collect()
    return tuple(found[:CORPUS])


@pytest.mark.parametrize("number", range(CORPUS))
def test_random_program(number: int) -> None:
    """Each kernel of a random program compiles for one architecture. Together the programs are a sample of all pairs of
    kernel and architecture.
    """
    drawn = corpus()[number]
    program = compile(drawn.text)
    plan = plan_of(program, columns=number % 2 == 0)
    kernels = [kernel for k, kernel in enumerate(kernels_of(plan)) if k % 10 == number % 10]
    assert log_of(plan.text, kernels, ARCHITECTURES[number % 4]) == "", drawn.text


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_kernels_that_are_no_templates(architecture: str) -> None:
    plan = plan_of(load("sssp"))
    assert log_of(plan.text, [(name, "", ()) for name in (*PREPARATIONS, *SPARSE_PREPARATIONS, *EXCHANGE_PREPARATIONS)],
                  architecture) == ""
    moving = [(name, f"u{bits}", ()) for name in EXCHANGE_SIGNATURES for bits in (8, 16, 32, 64)]
    assert log_of(plan.text, moving, architecture) == ""
    timing = "\n".join([plan.text, *calibrate.sources(), *rates.rate_sources()])
    assert _log(timing, architecture) == ""


MESSAGES = """program spread(source: vertex)

vertex x: float = 0 if self == source else inf
vertex w: float = 1

repeat:
    gather near = min(exp(u.x) / (u.w + 1) for u -> self)
    apply  x = min(x, near)
"""


DIRECT = MESSAGES.replace(" / (u.w + 1)", "")
"""The contributions of this program are pushed into the field itself, also by bitmaps."""


@pytest.mark.parametrize(("text", "template"), [(MESSAGES, "send_queue"), (DIRECT, "send_part")])
def test_messages_of_a_frontier(text: str, template: str) -> None:
    plan = plan_of(compile(text))
    kernels = kernels_of(plan)
    assert template in {template for template, _, _ in kernels}
    assert log_of(plan.text, kernels, "sm_80") == ""


@pytest.mark.parametrize("architecture", sampled(ARCHITECTURES, ARCHITECTURES[::3]))
def test_all_contributions_at_once(architecture: str) -> None:
    """All types compile for the newest architecture. For other architectures only the templates are different."""
    rest = (BESIDE, all_types(("i64", "u8", "vertex")), KEYS.source) if architecture == ARCHITECTURES[-1] else ()
    for text in (KCORE, *rest):
        plan = plan_of(compile(text))
        assert log_of(plan.text, kernels_of(plan), architecture) == ""


def test_values_stored_at_edges() -> None:
    """A run of the tests compiles one kernel in ten, among them one with several loads in flight."""
    for name in sampled(list(PROGRAMS), ("symmetric", "triangles")):
        plan = plan_of(PROGRAMS[name])
        kernels = [kernel for k, kernel in enumerate(kernels_of(plan)) if EXHAUSTIVE or k % 10 == 1]
        assert kernels
        assert log_of(plan.text, kernels, "sm_90") == ""


def test_every_template_is_compiled() -> None:
    plans = [*(plan_of(load(name)) for name in USUAL), *(plan_of(compile(text)) for text in (MESSAGES, DIRECT, KCORE))]
    seen = {template for plan in plans for template, struct, _ in kernels_of(plan) if struct}
    assert seen == {*SIGNATURES, *SPARSE_SIGNATURES}


# --------------------------------------------------------------------------------------------------------------- text
@pytest.mark.parametrize("name", PLAIN)
def test_plain_programs_stay_in_registers(name: str) -> None:
    plan = plan_of(load(name))
    kernels = [kernel for kernel in kernels_of(plan) if kernel[0] not in WALKS]
    sizes = _FRAME_SIZES.findall(log_of(plan.text, kernels, "sm_90", "-v"))
    assert len(sizes) == len(kernels)
    assert [size for size in sizes if int(size[1]) > _SPILLED] == []


@pytest.mark.parametrize("name", STDLIB)
def test_text_is_stable(name: str) -> None:
    program = load(name)
    text = plan_of(program).text
    assert plan_of(load(name)).text == text
    spaced = program.source.replace("\n", "\n# a comment\n\n")
    assert plan_of(compile(spaced)).text == text


def test_warnings_are_seen() -> None:
    source = 'extern "C" __global__ void warned(int* p) { int unused; *p = 1; }\n'
    assert "never referenced" in _log(source, "sm_90")
    spilling = 'extern "C" __global__ void kept(int* p, int k) { int a[64]; ' \
               "for (int i = 0; i < 64; i++) a[p[i] & 63] = i; p[0] = a[k]; }\n"
    assert _FRAME_SIZES.findall(_log(spilling, "sm_90", "-v"))[0][1] != "0"


def test_no_text_includes_anything() -> None:
    folder = Path(cuda.__file__).parent / "skeletons"
    for path in [*folder.glob("*.cuh"), Path(calibrate.__file__).with_name("calibrate.cuh")]:
        text = path.read_text()
        assert "#include" not in text
        assert "asm" not in re.findall(r"\w+", text), f"{path.name}: inline assembly"
        assert not re.search(r"__shared__(?! __align__\(16\) unsigned char dynamic_shared)", text), path.name

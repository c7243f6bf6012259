"""Programs: text compiled once, bound to a graph and run as often as you like."""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vlang.api.bind import bind_fields, bind_parameters
from vlang.api.bind_options import bind_options
from vlang.api.calls import Call, Stages
from vlang.api.verified import verified_plan, verified_program, verified_schedule
from vlang.check import Problem, check, parse
from vlang.errors import BindError, DiskError, ProgramError
from vlang.ir.facts import analyse
from vlang.ir.forms import forms as f
from vlang.ir.lower import lower
from vlang.ir.schedule import schedule
from vlang.syntax.tree import Param

if TYPE_CHECKING:

    from vlang.runtime.engine.draws import Draws
    from vlang.runtime.engine.engine import Outcome
    from vlang.runtime.engine.machine import Options
    from vlang.runtime.graph.graph import Graph
    from vlang.runtime.plan.plan import Plan
    from vlang.runtime.results.origin import Origin
    from vlang.runtime.results.result import Result

__all__ = ["FieldInfo", "Parameter", "Program", "compile", "load"]


@dataclass(frozen=True)
class Parameter:
    """A parameter of a program. default: its value if the text gives a plain one, else the text; None if required."""

    name: str
    type: str
    default: bool | int | float | str | None
    required: bool


@dataclass(frozen=True)
class FieldInfo:
    """A vertex or edge field. required: it has no initializer (vertex) or default (edge)."""

    name: str
    type: str
    required: bool


@dataclass
class Program:
    """A compiled program: call it with a graph.

    Attributes: name, doc (the comment above the header), source, filename, warnings, params, fields, edges, globals.
    """

    source: str
    filename: str
    precision: int = 32
    derive: str | None = None
    _stages: dict[int, Stages] = field(default_factory=dict, repr=False)
    _plans: dict[tuple[Any, ...], Plan] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        stages = self.stages()
        file, program = stages.checked.file, stages.program
        self.name = file.name
        self.doc = file.doc
        self.params = tuple(_parameter(p, d, self.source) for p, d in zip(file.params, program.params))
        self.fields = tuple(FieldInfo(d.name, str(d.type), d.required) for d in program.fields if d.output)
        self.edges = tuple(FieldInfo(d.name, str(d.type), d.default is None) for d in program.edges)
        self.globals = tuple(g.name for g in program.globals)
        self.__doc__ = f"{self.name}{inspect.signature(self)}\n\n{self.doc}"

    @property
    def warnings(self) -> tuple[Problem, ...]:
        """What the checker warned of."""
        return tuple(w for w in self.stages().checked.warnings if isinstance(w, Problem))

    @property
    def __signature__(self) -> inspect.Signature:
        kind = inspect.Parameter.KEYWORD_ONLY
        empty = inspect.Parameter.empty
        params = [inspect.Parameter("graph", inspect.Parameter.POSITIONAL_ONLY)]
        params += [inspect.Parameter(p.name, kind, default=empty if p.required else p.default) for p in self.params]
        params += [inspect.Parameter(n.name, kind) for n in self.fields if n.required]
        params.append(inspect.Parameter("options", inspect.Parameter.VAR_KEYWORD))
        return inspect.Signature(params)

    def __call__(self, graph: Graph, /, **arguments: Any) -> Result:
        """Run the program on a graph.

        Keywords: the program's parameters (vertices as the graph's ids); vertex fields as arrays of length n (those
        without initializer must be given); and run options: max_rounds, threads, mode ("auto", "pull", "notify-pull",
        "push"), switching ("measured" or "published": how "auto" chooses), page_size (bytes), asynchronous, blocking,
        order ("auto", "rounds", "priority"), target (a vertex: stop once its value is final, rule O; `result.settled`
        says whose values are), precision (32 or 64 bits for int and float), progress (True, or a function that takes a
        Round), without (names of optimisations to
        leave out), derive ("delta": loops over linear sums send changes, see `derived`), device ("cpu", "gpu", "gpu:K"
        or "auto"), deterministic; for a GPU, gpu_memory (bytes, or "8G"), streams ("auto" or 1 to 32), kernel,
        replication ("auto", "none", "garaph" or a power of two up to 32), transfer ("auto", "pages" or "direct": how
        supersteps over few vertices reach edges in host memory), device_arrays (fields stay on the GPU, as CuPy
        arrays); chaos (a seed: run once more with every freedom that the facts grant, and compare; what was taken is in
        `result.chaos`). Raises BindError, GraphError, OutOfMemory, DeviceError, ChaosError.
        """
        if "derive" in arguments:
            return self.derived(arguments.pop("derive"))(graph, **arguments)
        if arguments.get("target") is not None and all(own.name != "target" for own in self.fields):
            arguments["target"] = graph.find(arguments["target"])
        options, precision, rest = bind_options(self, arguments)
        program = self.stages(precision).program
        scalars, left = bind_parameters(program, graph, rest, self.name)
        arrays = bind_fields(program, graph, left, self.name)
        started = self.stages(precision).derived & set(arrays)
        if started:
            raise BindError(f"`{min(started)}` is given, and in delta form it starts at the constant term of its loop "
                            "(rule D); leave out one of the two")
        parameters = {name: value for name, value in rest.items() if name not in left}
        call = Call(graph, options, precision or self.precision, parameters, scalars, arrays)
        result = self.run(call)
        if options.chaos is not None:
            from vlang.api.chaos import chaos_run  # start-up

            def run(on: Graph, how: Options, draws: Draws) -> Result:
                return self.run(replace(call, graph=on, options=how), draws)

            result.chaos = chaos_run(run, graph, options, self.stages(precision).facts, scalars, result)
        return result

    def resume(self, result: Result, /, added: Any = None, removed: Any = None, **options: Any) -> Result:
        """The program on the graph of an earlier result with other edges, from that result where that is proved right.

        result: of this program, whose parameters, given fields and precision hold again. added, removed: edges as
        `Graph.changed` takes them; result.graph is the new graph. options: the run options of a call. Loops for which
        rule I is granted go on from where they ended; what stands around them is computed anew, and so are later loops
        that are refused. Raises ResumeError, with the reason, where no loop may go on; and what a call raises.
        """
        from vlang.api.resume import resume  # start-up

        return resume(self, result, added, removed, options)

    def run(self, call: Call, draws: Draws | None = None) -> Result:
        """Run what is bound already; with draws, take every freedom at random."""
        from vlang.runtime.engine.engine import run_plan  # start-up
        from vlang.runtime.machines import open_machine  # start-up
        from vlang.runtime.results.origin import Origin  # start-up

        graph, precision = call.graph, call.precision
        facts = self.stages(precision).facts
        arrays = {**call.fields, **call.old}
        columns, given = frozenset(graph.columns), frozenset(arrays)
        keep = {number: {name: f"told:{name}" for name in loop.applied}
                for number, loop in enumerate(facts.loops.values()) if loop.kind == "delta"}

        def plan_for(target: str) -> Plan:
            return self.plan(columns, given, precision, target, call.options.without)

        with open_machine(plan_for, graph, call.options, draws) as opened:
            slots = [slot for names in keep.values() for slot in names.values() if slot in opened.plan.slots]
            outcome = run_plan(opened.plan, graph, opened.machine, call.scalars, arrays, call.options, call.starts,
                               slots)
        falling = {name for loop in facts.loops.values()
                   for name, direction in loop.directions.items() if direction == "down"}
        told = {number: {name: outcome.kept[slot] for name, slot in names.items() if slot in outcome.kept}
                for number, names in keep.items()}
        origin = Origin(self.source, precision, self.derive, graph, call.parameters, call.fields, told)
        return _result(opened.plan, graph, outcome, falling, origin, opened.device, opened.reason)

    def explain(
        self, stage: str = "facts", graph: Graph | None = None, without: frozenset[str] = frozenset()
    ) -> str:
        """A stage of the compilation as text: "tree", "ir", "facts", "numba", "cuda" or "plan". without: optimisations
        left out of the code and the plan, of vlang.ir.switches.OPTIMISATIONS."""
        from vlang.api.stage_text import explain  # start-up

        return explain(self, stage, graph, without)

    def stages(self, precision: int | None = None) -> Stages:
        """The program through every stage short of code, at a precision (default: its own)."""
        precision = precision or self.precision
        known = self._stages.get(precision)
        if known is None:
            checked = check(parse(self.source, self.filename), precision)
            program = verified_program(lower(checked))
            known = Stages(checked, program, analyse(program))
            if self.derive is not None:
                known = _derived(known)
            self._stages[precision] = known
        return known

    def derived(self, form: str | None) -> Program:
        """The program with linear loops rewritten to send changes, form "delta" (rule D); itself for None.

        Loops that may not be rewritten stay. Raises BindError, with the reasons, if no loop may.
        """
        if form not in (None, "delta"):
            raise BindError(f"derive is 'delta' or None, not {form!r}")
        if form is None or form == self.derive:
            return self
        return Program(self.source, self.filename, self.precision, form)

    def plan(
        self, columns: frozenset[str], given: frozenset[str] = frozenset(), precision: int | None = None,
        target: str = "numba", without: frozenset[str] = frozenset(),
    ) -> Plan:
        """The plan for graphs with these edge columns, and these vertex fields passed by the caller.

        target: "numba" (CPU) or "cuda" (CUDA C). without: optimisations left out, of vlang.ir.switches.OPTIMISATIONS.
        """
        from vlang.emit.emitter import emit  # start-up
        from vlang.emit.requires import contract_stages  # start-up

        stages = self.stages(precision)
        present = columns & {e.name for e in stages.program.edges}
        key = (stages.program.precision, present, given, target, without)
        known = self._plans.get(key)
        if known is None:
            whole = verified_schedule(schedule(stages.program, given, without))
            contracts = contract_stages(stages.program, whole, present)
            plan = emit(whole, stages.facts, present, contracts, target, without)
            known = self._plans[key] = verified_plan(plan)
        return known


def _derived(plain: Stages) -> Stages:
    """The stages with loops rewritten by rule D. Raises BindError if none may be."""
    from vlang.ir.derived import derived  # start-up

    program, fields, refused = derived(plain.program, plain.facts)
    if not fields:
        why = "; ".join(refused) or "it has no loop"
        raise BindError(f"{program.name} cannot be run in delta form (rule D): {why}. Leave out derive")
    return Stages(plain.checked, verified_program(program), analyse(program), fields)


def compile(text: str, filename: str = "<text>", precision: int = 32) -> Program:
    """The program of a text. Raises ProgramError with every problem of the text, each with its line and a help."""
    return Program(text, filename, precision)


def load(name: str | Path, precision: int = 32) -> Program:
    """The program of a `.vp` file, or of the standard library by name.

    Raises DiskError if there is neither, ProgramError if the text is wrong.
    """
    from vlang import stdlib  # start-up

    path = Path(name)
    if path.suffix != ".vp" and str(name) in stdlib.names() and not path.is_file():
        path = stdlib.path(str(name))
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise _unreadable(str(name), error, stdlib.names()) from None
    return Program(text, str(path), precision)


def _unreadable(name: str, error: Exception, known: tuple[str, ...]) -> Exception:
    if isinstance(error, UnicodeDecodeError):
        return ProgramError(f"{name}: not a program: the file is not UTF-8 text (byte {error.start + 1})")
    if isinstance(error, FileNotFoundError):
        near = difflib.get_close_matches(name, known, 1)
        hint = f"; did you mean `{near[0]}`?" if near else "; `vlang list` shows the programs that come with vlang"
        return DiskError(f"there is no program file {name!r}, and no program of that name{hint}")
    assert isinstance(error, OSError)
    return DiskError(f"{name} cannot be read: {(error.strerror or str(error)).lower()}")


def _parameter(node: Param, decl: f.ParamDecl, source: str) -> Parameter:
    default: bool | int | float | str | None = None
    if node.default is not None:
        value = decl.default
        text = source[node.default.span.start : node.default.span.end]
        default = value.value if isinstance(value, f.Const) and value.value is not None else text
    return Parameter(decl.name, str(decl.type), default, node.default is None)


def _result(
    plan: Plan, graph: Graph, outcome: Outcome, falling: set[str], origin: Origin, device: str, device_reason: str
) -> Result:
    import numpy as np  # start-up

    from vlang.runtime.results.result import Result  # start-up

    outputs = [spec for spec in plan.fields if spec.output]
    fields: dict[str, Any] = {}
    for spec in outputs:
        array = outcome.values.fields[spec.name]
        array = array.view({"bool": np.bool_, "f16": np.float16}.get(spec.type.partition("[")[0], array.dtype))
        fields[spec.name] = array.reshape(-1, spec.width) if "[" in spec.type else array  # of vectors, T[1] too
    values: Mapping[str, Any] = {
        name: bool(value) if type_ == "bool" else value
        for (name, type_), value in zip(plan.globals, outcome.values.globals.values())
    }
    return Result(
        program=plan.name, ids=graph.ids, fields=fields,
        types={**{spec.name: spec.type for spec in outputs}, **dict(plan.globals)}, globals=dict(values),
        rounds=outcome.rounds, converged=outcome.converged, reason=outcome.reason, history=outcome.history,
        seconds=outcome.seconds, smallest_first=falling, edges=outcome.history.edges,
        graph_edges=graph.m, device=device, device_reason=device_reason, origin=origin, settled=outcome.settled,
    )

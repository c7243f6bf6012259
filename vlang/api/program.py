"""Programs: a text is compiled once, and can then run on any number of graphs."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from contextvars import copy_context
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from vlang.api.arguments.bind_options import bind_options
from vlang.api.arguments.kinds_of_arguments import check_precision, checked_graph, shown
from vlang.api.bound_call import bound_call
from vlang.api.calls import Call, Stages
from vlang.api.constants import checked_values, defaults_of, described_parameters, missing, sized_types
from vlang.api.described import FieldInfo, documented, signature_of
from vlang.api.running.asserted import asserted_program
from vlang.api.running.planned import planned
from vlang.check import Problem, check, parse
from vlang.errors import BindError
from vlang.ir.facts import analyse
from vlang.ir.forms import forms as f
from vlang.ir.forms.ranges import USUAL, Ranges, Sizes
from vlang.ir.integer_watch import Leaving, leaving
from vlang.ir.lower import lower
from vlang.runtime.plan.derived import DERIVED

if TYPE_CHECKING:
    from vlang.api.lowered import Lowered
    from vlang.options import Options
    from vlang.runtime.engine.draws import Draws
    from vlang.runtime.graph.graph import Graph
    from vlang.runtime.plan.plan import Plan
    from vlang.runtime.results.result import Result

__all__ = ["Program", "compile", "load"]

_Given = ParamSpec("_Given")
_Found = TypeVar("_Found")


@dataclass(repr=False)
class Program:
    """A compiled program: call it with a graph.

    Attributes: name, doc (the comment above the header), source, filename, warnings, params, fields, edges, globals,
    constants (the values of constants that do not have their defaults).
    """

    source: str
    filename: str
    precision: int = 32
    derive: str | None = None
    constants: dict[str, int] = field(default_factory=dict)
    _stages: dict[int, Stages] = field(default_factory=dict, repr=False)
    _plans: dict[tuple[Any, ...], Plan] = field(default_factory=dict, repr=False)
    _leaving: dict[tuple[Any, ...], tuple[Ranges, Leaving]] = field(default_factory=dict, repr=False)
    _fixed: dict[tuple[Any, ...], Program] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        stages = self.stages()
        checked, file, program = stages.checked, stages.checked.file, stages.program
        self.name = file.name
        self.doc = file.doc
        declared = [param for param in program.params if param.name not in program.texts]
        decls: tuple[f.Decl, ...] = (*declared, *program.fields, *program.edges)
        types = {d.name: str(program.shown.get(d.name, d.declared if isinstance(d, f.ParamDecl) else d.type))
                 for d in decls}
        types |= sized_types(checked, self.source, types)
        self.params = tuple(described_parameters(self, checked, iter(declared), types))
        self.fields = tuple(FieldInfo(d.name, types[d.name], d.required) for d in program.fields if d.output)
        self.edges = tuple(FieldInfo(d.name, types[d.name], d.default is None) for d in program.edges)
        self.globals = tuple(g.name for g in program.globals)
        self.__doc__ = documented(self)

    def __repr__(self) -> str:
        outputs = ", ".join([*(field.name for field in self.fields), *self.globals])
        return f"<Program {self.name}: {outputs or 'no outputs'}>"

    def _repr_html_(self) -> str:
        """The program in colours with its parameters, for notebooks."""
        from vlang.api.describe_html import program_html  # start-up

        return program_html(self)

    @property
    def warnings(self) -> tuple[Problem, ...]:
        """The warnings of the checker."""
        return tuple(w for w in self.stages().checked.warnings if isinstance(w, Problem))

    @property
    def __signature__(self) -> inspect.Signature:
        """The signature of a call. Names that Python does not allow, such as `lambda`, are passed through `**`."""
        return signature_of(self.params, self.fields)

    def __call__(
        self, graph: Graph | None = None, options: Options | Mapping[str, Any] | None = None, /, **arguments: Any
    ) -> Result:
        """Run the program on a graph.

        Args:
            graph: the graph; it is not changed.
            options: all run options at once, as `vlang.Options` or as a dict of its fields. The keyword `options` can
                be used instead.
            arguments: parameters of the program, vertex fields, and run options. A vertex is given by its id in the
                graph. A vertex field is an array of shape [n], or [n, k] for vectors, in the order of graph.ids. A
                vertex field may also be a dict, a pandas Series or a DataFrame with vertex ids as labels. Fields
                without initializer must be given. Everyday options are given by name, and research options as a dict
                `research`; both override `options`. If an option has the name of a parameter or field, the keyword
                means the parameter or field, and the option must be passed in `options`.

        The options are the fields of `vlang.Options`: docs/python.md and docs/research.md list them.

        Raises BindError, GraphError, OutOfMemory, DeviceError, ChaosError, TrapError, CheckpointError, DiskError.
        """
        return _apart(self._called, graph, options, arguments)

    def _called(
        self, given: Graph | None, options: Options | Mapping[str, Any] | None, arguments: dict[str, Any]
    ) -> Result:
        from vlang.runtime.storage.room import memory_named  # start-up

        program, call = self.bound(given, options, arguments)
        with memory_named(f"{self.name} on {call.graph.name}"):
            return program.run_bound(call)

    def bound(
        self, given: Graph | None, options: Options | Mapping[str, Any] | None, arguments: dict[str, Any]
    ) -> tuple[Program, Call]:
        """Return the program, compiled for the constants and options among the arguments of a call, and the bound call.
        """
        from vlang.runtime.storage.room import memory_named  # start-up

        graph = checked_graph(given, self.name)
        chosen, rest = bind_options(self, arguments, options)
        try:
            program, rest = self.fixed_by(rest)
            program = program.derived(chosen.derive)
            with memory_named(f"{self.name} on {graph.name}"):
                return program, bound_call(program, graph, program._at_target(graph, chosen), rest)
        except BaseException as error:
            if chosen.cluster is not None:
                from vlang.api.running.on_ranks import abort_ranks  # start-up

                abort_ranks(chosen.cluster, error)
            raise

    def _at_target(self, graph: Graph, options: Options) -> Options:
        """The options of a run, with the vertex id `target` replaced by the number of this vertex in the engine."""
        if options.target is None:
            return options
        target = graph.find(options.target)
        return replace(options, target=target if graph.order is None else int(graph.order.internal[target]))

    def run_bound(self, call: Call) -> Result:
        """Run a bound call. The options may request trap mode, or a second run in random order."""
        graph, options = call.graph, call.options
        if options.trap:
            from vlang.api.running.run_call import check_call  # start-up

            check_call(self, call)
        result = self.run(call)
        if options.chaos is not None:
            from vlang.api.chaos import chaos_run  # start-up

            def run(on: Graph, how: Options, draws: Draws) -> Result:
                return self.run(replace(call, graph=on, options=how), draws)

            result.chaos = chaos_run(run, graph, options, self.stages(call.precision).facts, call.scalars,
                                     result)
        return result

    def map(
        self, graph: Graph, options: Options | Mapping[str, Any] | None = None, /, **arguments: Any
    ) -> Iterator[Result]:
        """Run the program once for each value of a list: `program.map(graph, source=[1, 2, 3])`.

        Several such lists are combined as by `zip`. A parameter that is a list itself, such as `sources`, takes a list
        of lists. Up to 16 runs on a CPU share their reads of the edges. Runs share reads only if the compiler proves
        that each run adds the same values in the same order as a separate run. `Result.together` says whether runs
        shared their reads, and gives the reason if they did not.

        Returns an iterator. A group of runs that share reads starts when the first result of the group is requested.
        Raises BindError, and the errors that a call raises.
        """
        from vlang.api.batch import mapped  # start-up

        return mapped(self, graph, options, arguments)

    def resume(self, result: Result, /, added: Any = None, removed: Any = None, **options: Any) -> Result:
        """Run the program on a changed graph, starting from the result on the graph before the change.

        Loops for which rule I is granted continue from their last state; the result equals the result of a new run.
        Statements around these loops are computed again, and so are later loops for which rule I is refused.

        Args:
            result: a result of this program; its parameters, given fields and precision are used again.
            added: edges to insert, as `Graph.changed` takes them.
            removed: edges to delete, as `Graph.changed` takes them.
            options: run options as in a call: everyday options by name, `research`, `options`.

        Returns:
            The result on the new graph; its attribute `graph` is the new graph.

        Raises ResumeError, with the reason, if no loop may continue, or an error that a call raises.
        """
        from vlang.api.resume import resume  # start-up
        from vlang.runtime.results.result import Result  # start-up

        if not isinstance(result, Result):
            raise BindError(f"{self.name}.resume goes on from a vlang.Result, not from {shown(result)}")
        return _apart(resume, self, result, added, removed, options)

    def run(self, call: Call, draws: Draws | None = None) -> Result:
        """Run a bound call. With `draws`, the engine makes every free choice at random (chaos mode)."""
        from vlang.api.running.run_call import run_call  # start-up

        return run_call(self, call, draws)

    def leaving(self, precision: int, given: frozenset[str], sizes: Sizes) -> tuple[Ranges, Leaving]:
        """Return the ranges of the program's integers on graphs of a given size, and the outputs that may become
        infinite.

        Args:
            given: names of the vertex fields that the caller passes.
        """
        key = (precision, given, sizes)
        if key not in self._leaving:
            stages = self.stages(precision)
            ranges = Ranges(stages.program, given, sizes)
            self._leaving[key] = ranges, leaving(stages.program, stages.facts, ranges)
        return self._leaving[key]

    def lower(self, graph: Graph | None = None, device: str = "cpu", **options: Any) -> Lowered:
        """Lower the program for a graph. Without a graph, lower the program for all graphs that have its edge columns.

        The result gives the facts, the plan, texts and the cost. Nothing is compiled or run, and no GPU is needed.
        Raises BindError.

        Args:
            device: "cpu" or "gpu".
            options: run options as in a call, by name, `research` and `options`.
        """
        from vlang.api.lowered import lower_program  # start-up

        if graph is not None:
            checked_graph(graph, self.name)
        return lower_program(self, graph, device, options)

    def explain(self, stage: str = "facts", graph: Graph | None = None, **options: Any) -> str:
        """A stage of the compilation as text: the same as `lower(graph, **options).text(stage)`.

        Args:
            stage: "tree", "ir", "facts", "numba", "cuda" or "plan".
        """
        return self.lower(graph, **options).text(stage)

    def __reduce__(self) -> tuple[Any, tuple[Any, ...]]:
        return type(self), (self.source, self.filename, self.precision, self.derive, self.constants)

    def stages(self, precision: int | None = None) -> Stages:
        """The checked tree, the IR and the facts of the program, at a precision (default: the program's)."""
        precision = precision or self.precision
        known = self._stages.get(precision)
        if known is None:
            checked = _apart(check, parse(self.source, self.filename), precision, self.constants)
            program = asserted_program(lower(checked))
            known = Stages(checked, program, analyse(program))
            if self.derive is not None:
                known = _derived(known)
            self._stages[precision] = known
        return known

    def derived(self, form: str | None) -> Program:
        """Return the program with linear loops rewritten to send changes (rule D) if the form is "delta". Return this
        program if the form is None.

        Loops that rule D refuses are not rewritten. Raises BindError, with the reasons, if rule D refuses all loops.
        """
        if form not in (None, "delta"):
            raise BindError(f"derive is 'delta' or None, not {form!r}")
        if form is None or form == self.derive:
            return self
        return Program(self.source, self.filename, self.precision, form, self.constants)

    def with_constants(self, **values: Any) -> Program:
        """Return the program compiled for other values of its constants; if no value changes, return this program
        itself.

        Raises BindError for an unknown constant or a wrong value, and ProgramError if the text is wrong for a value.
        """
        defaults = defaults_of(self.stages().checked)
        chosen = {name: value for name, value in {**self.constants, **checked_values(self, values)}.items()
                  if value != defaults[name]}
        if chosen == self.constants:
            return self
        key = (self.derive, *sorted(chosen.items()))
        if key not in self._fixed:
            self._fixed[key] = Program(self.source, self.filename, self.precision, self.derive, chosen)
        return self._fixed[key]

    def fixed_by(self, arguments: dict[str, Any]) -> tuple[Program, dict[str, Any]]:
        """The program compiled for the constants among the arguments of a call, and the remaining arguments.

        Raises BindError if a constant has no value.
        """
        constants = defaults_of(self.stages().checked)
        if not constants:
            return self, arguments
        program = self.with_constants(**{name: arguments[name] for name in constants if name in arguments})
        if unset := missing(program):
            raise BindError(unset)
        return program, {name: value for name, value in arguments.items() if name not in constants}

    def plan(
        self, columns: frozenset[str], given: frozenset[str] = frozenset(), precision: int | None = None,
        target: str = "numba", without: frozenset[str] = frozenset(), renumbered: bool = False,
        sizes: Sizes = USUAL,
    ) -> Plan:
        """Return the plan for graphs with these edge columns and for calls that pass these vertex fields.

        Args:
            columns: names of the graph's edge columns.
            given: names of the vertex fields that the caller passes.
            precision: 32 or 64, the bits of `int` and `float`; None for the precision of the program.
            target: "numba" (CPU) or "cuda" (CUDA C).
            without: names of optimisations to leave out, from vlang.ir.switches.OPTIMISATIONS.
            renumbered: whether the rows of the graph are stored in an order that differs from the order of vertex ids
                (vlang.runtime.graph.edges.order).
            sizes: an upper bound on the size of the graph: an entry of vlang.ir.forms.ranges.SIZES.
        """
        if unset := missing(self):
            raise BindError(unset)
        stages = self.stages(precision)
        present = columns & {*(e.name for e in stages.program.edges), *DERIVED}
        key = (stages.program.precision, present, given, target, without, renumbered, sizes)
        if key not in self._plans:
            self._plans[key] = planned(
                stages.program, stages.facts, columns, given, target, without, renumbered, sizes)
        return self._plans[key]


def _apart(function: Callable[_Given, _Found], *args: _Given.args, **named: _Given.kwargs) -> _Found:
    """Call a function in a copy of the current context, which holds NumPy's error handling.

    `np.errstate` changes the error handling, and later restores it in Python code that an interrupt may skip. Without
    the copy, NumPy would then report no errors to the caller.
    """
    return copy_context().run(function, *args, **named)


def _derived(plain: Stages) -> Stages:
    """The stages after rule D has rewritten loops. Raises BindError if rule D refuses all loops."""
    from vlang.ir.derived import derived  # start-up

    program, fields, refused = derived(plain.program, plain.facts)
    if not fields:
        why = "; ".join(refused) or "it has no loop"
        raise BindError(f"{program.name} cannot be run in delta form (rule D): {why}. Leave out derive")
    return Stages(plain.checked, asserted_program(program), analyse(program), fields)


def compile(text: str, filename: str = "<text>", precision: int = 32, **constants: int) -> Program:
    """Compile the text of a program.

    Args:
        text: the text.
        filename: the name of the text in messages.
        precision: the bits of `int` and `float`, 32 or 64.
        constants: values of the program's constants (`k: const`), in place of their defaults.

    Raises ProgramError with every problem of the text; each problem has a line and advice. Raises BindError if the text
    is not a str, if the precision is neither 32 nor 64, or if a constant has a wrong value.
    """
    if not isinstance(text, str) or not isinstance(filename, str):
        raise BindError(f"vlang.compile takes the text of a program, not {shown(text)}")
    check_precision(precision)
    return Program(text, filename, precision).with_constants(**constants)


def load(name: str | Path, precision: int = 32, **constants: int) -> Program:
    """Load a program from a `.vp` file, from standard input (`-`), or from the standard library by its name.

    Raises DiskError if there is no such file or program. Raises ProgramError if the text is wrong, and BindError for a
    wrong argument.

    Args:
        constants: values of the program's constants (`k: const`), in place of their defaults.
    """
    from vlang.api.program_text import program_text  # start-up

    if not isinstance(name, (str, Path)) or "\0" in str(name):
        raise BindError(f"vlang.load takes the name of a program or a path, not {shown(name)}")
    check_precision(precision)
    text, path = program_text(name)
    return Program(text, str(path), precision).with_constants(**constants)

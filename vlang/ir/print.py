"""The IR and the facts as text: the output of `vlang explain --stage ir` and `--stage facts`."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator

from vlang.ir.facts import EarlyExit, Facts, GatherFacts, LoopFacts
from vlang.ir.forms import forms as f
from vlang.ir.forms.normal import Write
from vlang.ir.forms.phases import Phase
from vlang.ir.forms.text import expression, repeat_head, statement_lines, type_text
from vlang.ir.forms.visible import expressions, statements
from vlang.ir.rules.context import LETTERS, Verdict, listed

__all__ = ["facts_text", "program_text"]

WIDTH = 110
_LABEL = 17
_DOMAINS = {"in": "in-edges", "out": "out-edges", "both": "edges both ways",
            "pointing": "the vertices that point here"}
_WAYS = {"up": "only moves up", "down": "only moves down"}


def program_text(program: f.Program) -> str:
    """The IR of a program: declarations with their types, then the statements in order."""
    params = ", ".join(f"{p.name}: {type_text(p.declared)}" + (f" = {expression(p.default)}" if p.default else "")
                       for p in program.params)
    lines = [f"program {program.name}({params})", ""]
    lines += _declarations(program)
    for statement in program.body:
        if isinstance(statement, f.Repeat) and lines[-1]:
            lines.append("")
        lines += statement_lines(statement)
    return "\n".join(lines).rstrip() + "\n"


def _declarations(program: f.Program) -> list[str]:
    lines = [f"edge {edge.name}: {type_text(edge.type)}"
             + (f" = {expression(edge.default)}" if edge.default else "    # from the graph") for edge in program.edges]
    lines += [f"edge state {state.name}: {type_text(state.type)}    # {state.rows} counts its changes in a row"
              for state in program.states]
    for field in program.fields:
        note = "output" if field.output else "local to its block"
        note += ", given by the caller" if field.required else ""
        lines.append(f"vertex {field.name}: {type_text(field.type)}    # {note}")
    lines += [f"global {g.name}: {type_text(g.type)}    # output" for g in program.globals]
    for rule in program.reductions:
        lines.append(f"reduction {rule.name}({rule.left}, {rule.right}): {type_text(rule.type)} = "
                     f"{expression(rule.body)}, identity {expression(rule.identity)}")
    lines += [f"require {need.word}" for need in program.needs]
    lines += [f"require {expression(require.cond)}" for require in program.requires]
    renamed = [f"{new} is {old}" for new, old in program.names.items() if new != old]
    if renamed:
        lines.append(f"# renamed, since names are unique in the program: {', '.join(renamed)}")
    return [*lines, ""] if lines else []


# --------------------------------------------------------------------------- facts


def facts_text(facts: Facts) -> str:
    """The verdict of each rule for each loop of a program, with reasons."""
    program = facts.program
    parts = [[f"{program.name}: what may be done with each loop, and why"]]
    if not facts.loops:
        parts.append(["There is no loop: each statement runs once."])
    if facts.initial:
        parts.append(["Before and between the loops", *(line for g in facts.initial for line in _gather(g))])
    parts += [list(_loop(program, number, loop)) for number, loop in enumerate(facts.loops.values(), 1)]
    letters = {v.letter for loop in facts.loops.values() for v in _all(loop) if v.letter}
    if letters:
        parts.append(_row("Letters", "; ".join(f"{letter}: {LETTERS[letter]}" for letter in sorted(letters)), 0))
    return "\n\n".join("\n".join(part) for part in parts) + "\n"


def _row(label: str, text: str, indent: int = 2) -> list[str]:
    """A labelled paragraph with a hanging indent."""
    head = " " * indent + label.ljust(_LABEL)
    return textwrap.wrap(text, WIDTH, initial_indent=head, subsequent_indent=" " * (indent + _LABEL),
                         break_long_words=False, break_on_hyphens=False) or [head.rstrip()]


def _loop(program: f.Program, number: int, loop: LoopFacts) -> Iterator[str]:
    yield f"Loop {number}, line {loop.loop.span.line}: {repeat_head(loop.loop)}"
    yield from _row("kind", f"{loop.kind}: {loop.kind_reason}")
    yield from _row("activation", f"{'default' if loop.default_activation else 'its own'}: {loop.default_reason}")
    if loop.reads_iteration:
        yield from _row("iteration", "is read: supersteps are distinguished by their number")
    yield from _single(program, loop)
    for phase in loop.phases:
        yield ""
        yield from _phase(loop, phase)
    yield ""
    yield "  The four functions"
    yield from _functions(loop)
    yield ""
    yield "  How fields are written"
    for row in dict.fromkeys(tuple(_write(write)) for write in loop.writes):
        yield from row
    yield ""
    yield "  What may be done"
    yield from _verdicts(loop)
    yield ""
    yield "  Gathers"
    for gather in loop.gathers:
        yield from _gather(gather)


def _single(program: f.Program, loop: LoopFacts) -> Iterator[str]:
    """The lines that say when a loop reads the values of single vertices (`q.f`). Rules N and P depend on this."""
    inside = list(statements(loop.loop.body))
    read = {one.name for statement in inside for expr in expressions(statement) for one in f.walk(expr)
            if isinstance(one, f.GraphValue) and one.kind == "let" and "." in program.names.get(one.name, "")}
    anew = {one.name for one in inside if isinstance(one, f.Let)}
    for name in sorted(read):
        text = f"`{program.names[name]}` is read "
        yield from _row("one vertex", text + ("anew in every superstep: the loop may change it" if name in anew else
                                              "once, before the loop: the loop does not change it"))


def _phase(loop: LoopFacts, phase: Phase) -> Iterator[str]:
    domains = listed(_DOMAINS[domain] for domain in phase.domains) if phase.domains else "no edges"
    reads = f"; reads {listed(f'u.{name}' for name in sorted(phase.neighbour))}" if phase.neighbour else ""
    writes = f"; writes {listed(sorted(phase.writes))}" if phase.writes else ""
    yield f"  Phase {phase.number} of {len(loop.phases)}: over {domains}{reads}{writes}"
    for statement in phase.statements:
        yield from statement_lines(statement, "      ")
    if phase is loop.phases[-1] and loop.loop.activate is not None:
        yield from statement_lines(loop.loop.activate, "      ")


def _functions(loop: LoopFacts) -> Iterator[str]:
    """Return the loop as text in the gather-sum-apply-activate model (language.md section 1)."""
    for phase in loop.phases:
        for statement in statements(phase.statements):
            if isinstance(statement, f.Gather):
                yield from _contribution(statement.name, statement.reduce)
            elif isinstance(statement, f.Apply):
                yield from _row(f"apply {', '.join(statement.fields)} ", expression(statement.value), 4)
    own = loop.loop.activate
    changed = f"one of {listed(loop.applied)} differs" if len(loop.applied) > 1 else f"{listed(loop.applied)} differs"
    default = f"{changed} from its value at the start of the superstep" if loop.applied else "never"
    yield from _row("activate", default if own is None else expression(own.cond), 4)


def _contribution(name: str, reduce: f.Reduce) -> Iterator[str]:
    if reduce.group is not None and reduce.key is not None:
        yield from _row(f"groups {name} ", f"{reduce.group} = {expression(reduce.key)}", 4)
    cond = f", if {expression(reduce.cond)}" if reduce.cond is not None else ""
    default = f"; {expression(reduce.default)} where there are none" if reduce.default is not None else ""
    yield from _row(f"gather {name} ", f"{expression(reduce.body)}, from {_DOMAINS[reduce.domain.kind]}{cond}", 4)
    yield from _row(f"sum {name} ", f"{reduce.name}{default}", 4)


def _write(write: Write) -> Iterator[str]:
    names = ", ".join(write.fields)
    if write.operator is None:
        yield from _row(names, "recomputed: the new value is not joined with the old one", 4)
        return
    text = f"normal form {write.operator.text} with e = {expression(write.rest)}"
    text += f"; {_WAYS[write.direction]}" if write.direction else ""
    if write.delta:
        text += "; delta form: adds a linear function of the changes of neighbours"
    elif write.joined is not None:
        text += f"; joined gather `{write.joined.name}`: contributions may be joined one by one"
    else:
        text += "; no joined gather"
    yield from _row(names, text, 4)


def _all(loop: LoopFacts) -> tuple[Verdict, ...]:
    return (loop.order, loop.push, loop.notify_pull, loop.incremental, loop.priority, loop.derive,
            loop.single_assignment, loop.copied)


def _verdicts(loop: LoopFacts) -> Iterator[str]:
    labels = ("A any order", "P push", "N skip", "I incremental", "O priority", "D derive delta", "S assign once",
              "K copied values")
    rows = list(zip(labels, _all(loop)))
    for label, verdict in rows[:3]:
        yield from _row(label, _said(verdict), 4)
    yield from _row("X early exit", _exits(loop.early_exit), 4)
    for label, verdict in rows[3:]:
        yield from _row(label, _said(verdict), 4)
    for phase, verdict in zip(loop.phases, loop.fuses):
        yield from _row("F fuse", f"phase {phase.number}: {_said(verdict, marks=False)}", 4)
    for name, verdict in loop.buffers.items():
        yield from _row("B one buffer", f"{name}: {_said(verdict)}", 4)


def _said(verdict: Verdict, marks: bool = True) -> str:
    """The text of a verdict: `yes (+self): why`, or `no (c): why not`."""
    if not verdict.granted:
        letter = f" ({verdict.letter})" if verdict.letter else ""
        return f"no{letter}: {verdict.reason}"
    shown = f" ({', '.join(verdict.marks)})" if marks and verdict.marks else ""
    return f"yes{shown}: {verdict.reason}"


def _exits(exits: EarlyExit) -> str:
    parts = []
    if exits.done:
        states = listed(f"`{name}` is {str(value).lower()}" for name, value in exits.done.items())
        parts.append(f"X1: a vertex need not gather once {states}: joining anything changes nothing")
    if exits.gathers:
        names = listed(f"`{name}`" for name in exits.gathers)
        parts.append(f"X1: {names} may stop at the value that absorbs all others")
    if exits.frontier.granted:
        parts.append(exits.frontier.reason)
    return "yes: " + "; ".join(parts) if parts else f"no: no absorbing value; {exits.frontier.reason}"


def _gather(gather: GatherFacts) -> Iterator[str]:
    yield f"    {gather.name}, over {_DOMAINS[gather.domain]}"
    yield from _row("R replicate", _said(gather.replicate), 6)
    yield from _row("Z skip identity", _said(gather.strict), 6)
    sent = "; ".join(expression(message) for message in gather.messages)
    yield from _row("message", f"{sent}: computed once per neighbour, read on every edge" if sent else
                    "none: neighbours' fields are read as they are", 6)

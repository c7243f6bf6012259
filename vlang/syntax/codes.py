"""The registry of diagnostics: one row for each code. A message shows the code with which it is registered in this
module.

To add a diagnostic, add a row to this module, a page docs/diagnostics/CODE.md and a wrong program
tests/mistakes/CODE/page.vp. `python -m tests.docs.diagnostics` writes the index and the examples of the pages.
"""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path

__all__ = ["Code"]

_PAGES = Path(__file__).resolve().parents[1] / "diagnostics"


class Code(StrEnum):
    """A diagnostic. The text of a member is the code of the diagnostic, such as "V106".

    Attributes:
        heading: the kind of mistake, in a few words.
        description: the rule that is broken, in one sentence.
        example: a program line with this mistake.
        severity: "error" or "warning".
    """

    heading: str
    description: str
    example: str
    severity: str

    def __new__(cls, code: str, heading: str, description: str, example: str, severity: str = "error") -> Code:
        row = str.__new__(cls, code)
        row._value_ = code
        row.heading, row.description, row.example, row.severity = heading, description, example, severity
        return row

    SYNTAX = ("V001", "the text is no program",
              "The line does not follow the grammar.",
              "gather near = min(u.dist + weight for u -> v)")
    UNKNOWN_NAME = ("V101", "unknown name",
                    "Nothing of this name is visible at this place.",
                    "apply dist = min(dist, naer)")
    NAME_TAKEN = ("V102", "a name that is taken",
                  "Fields, parameters, values, functions and words of the language share one namespace.",
                  "vertex tol: float = 0")
    NO_EDGE = ("V103", "an edge field without an edge",
               "An edge field is read by its name, inside a reduction over edges.",
               "apply dist = min(dist, near + weight)")
    NO_VERTEX = ("V104", "a value without its vertex",
                 "A reduction over vertices has no `self`; the vertex at hand is named, as in `v.rank`.",
                 "let total = sum(rank for v in vertices)")
    MANY_VALUES = ("V105", "more values than the place can hold",
                   "The place takes one value, and the expression has one per vertex or per edge.",
                   "repeat until abs(change(rank)) < tol:")
    WRONG_TYPE = ("V106", "the wrong type",
                  "The value does not have the type, or the number of parts, that its place needs.",
                  "gather near = min(u + weight for u -> self)")
    EDGE_WRITE = ("V107", "a wrong write to edges",
                  "Edge fields are read-only; an edge state is written by `apply f = e for u -> self`.",
                  "apply weight = near")
    NOT_A_VERTEX = ("V108", "`.` on something that is no vertex",
                    "A field is read of a neighbour, of the vertex of a reduction, or of a vertex that a field holds.",
                    "apply x = x.y")
    NESTED_REDUCTION = ("V109", "a reduction inside a reduction",
                        "The inner reduction is computed first and gets a name.",
                        "gather y = sum(u.x / sum(v.x for v in vertices) for u -> self)")
    EMPTY_REDUCTION = ("V110", "nothing to reduce, and no default",
                       "The reduction has no value where there is nothing to reduce, and needs a `default`.",
                       "gather popular = mode(u.label for u -- self)")
    FOREIGN_WRITE = ("V111", "write to another vertex",
                     "A vertex writes its own fields only.",
                     "apply u.dist = dist + weight for self -> u")
    UNKNOWN_REDUCTION = ("V112", "unknown reduction",
                         "No reduction of this name works here, neither of the language nor of the program.",
                         "gather near = mim(u.dist + weight for u -> self)")
    NOT_COMBINED = ("V113", "many values, one place",
                    "A value per edge needs a reduction before a field can hold it.",
                    "apply dist = u.dist + weight for u -> self")
    MISPLACED_REDUCTION = ("V114", "a reduction where none can be",
                           "A reduction over edges is named with `gather` first, one over vertices with `let`.",
                           "apply rank = (1 - damping) / N + damping * sum(u.rank / u.outdegree for u -> self)")
    BAD_GATHER = ("V115", "a gather that is more, or less, than a reduction",
                  "The right side of a `gather` is one reduction over edges, with nothing around it.",
                  "gather y = 0.5 * sum(u.x for u -> self)")
    MISPLACED_ACCUMULATOR = ("V116", "an accumulator out of its place",
                             "What a `gather` names is private to its vertex and ends with its block.",
                             "apply dist = min(dist, near)")
    MISSING_APPLY = ("V117", "assignment without `apply`",
                     "`apply` is the only statement that writes a vertex field.",
                     "dist = min(dist, near)")
    NOT_A_FIELD = ("V118", "apply to something that is no field",
                   "Only vertex fields can be applied.",
                   "apply near = 3")
    MISPLACED_ACTIVATE = ("V119", "`activate when` out of its place",
                          "`activate when` is the last statement of the block of a `repeat`, and occurs there once.",
                          "activate when x < 3")
    SWEEP_ORDER = ("V120", "a sweep that changes its own order",
                   "The levels are fixed on entry, so the block does not write the field, and holds no loops.",
                   "apply x = 3")
    MISPLACED_DECLARATION = ("V121", "a field declared in the wrong block",
                             "A field has a value at every vertex; one that is local to a loop has a start value.",
                             "vertex y: int = 0")
    MISPLACED_CHANGE = ("V122", "`change` out of its place",
                        "`change` is read of a neighbour in a `gather`, in `activate when`, and in `until`.",
                        "apply dist = min(dist, near + change(dist))")
    ENDLESS_LOOP = ("V201", "a loop that never converges",
                    "Every superstep adds the same contributions again.",
                    "apply rank += damping * inflow")
    CREEPING_FLOAT = ("V202", "a float that may creep forever",
                      "A float is recomputed until nothing changes, and rounding may change it for ever.",
                      "apply rank = (1 - damping) / N + damping * inflow", "warning")
    UNUSED_GATHER = ("V203", "a gather that is never read",
                     "The `gather` is a pass over the edges without a use.",
                     "gather far = max(u.dist for u -> self)", "warning")
    LOST_VALUE = ("V204", "the old value is lost",
                  "The best of the neighbours' values replaces the own one, even where that was better.",
                  "apply dist = near", "warning")
    INFINITE_SUM = ("V205", "a sum that may be infinite",
                    "A term of the sum may be `inf`, as the depth of a vertex that a search does not reach.",
                    "global total: i64 = sum(v.depth for v in vertices)", "warning")
    SHARED_RANDOM = ("V206", "a random number that all vertices share",
                     "The number depends on the seed and the keys alone, and none of them differs between vertices.",
                     "apply sick = sick or random(seed, iteration) < 0.1", "warning")
    UNCHANGED = ("V207", "a test of changes that is always false",
                 "`changed(f)` compares with the start of the superstep, and nothing has written `f` since.",
                 "gather hit = any(true for u -> self if changed(u.hot))", "warning")
    INFINITE_EQUATION = ("V208", "an equation that holds between infinities",
                         "Both sides may be `inf`, as the depths of two vertices that a search does not reach.",
                         "vertex parents: int = count(u.depth == depth - 1 for u -> self)", "warning")
    NO_NEIGHBOUR = ("V209", "a reduction that reads no neighbour",
                    "A field without a vertex before it is that of this vertex, and the same for every edge.",
                    "gather near = min(dist + weight for u -> self)", "warning")
    NOT_A_REDUCTION = ("V301", "not a reduction",
                       "A declared reduction is commutative and associative, and its identity changes nothing.",
                       "reduction mid(a, b): float = (a + b) / 2, identity 0")
    NOT_YET_RUN = ("V401", "correct, but not yet run",
                   "The language has it, and this version has no code for it on the device.",
                   "")
    TOO_LARGE = ("V402", "a program too large to compile",
                 "The program exceeds a limit of the compiler; the message names the limit.",
                 "vertex x: float[5000000] = 0")

    @property
    def page(self) -> Path:
        """The path of the page that explains the diagnostic, a Markdown file in the package."""
        return _PAGES / f"{self}.md"

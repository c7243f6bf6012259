"""Recognises lines in the syntax of other languages (Python, pandas, C, Cypher, GraphIt, Pregel), and gives advice.

Each row has a pattern for a whole line that does not parse, and texts for the message; `\\1` in its texts stands for
the text that a group of the pattern matched. The message marks the part of the line that a group named `at` matches.
Without such a group, the message marks the whole line.
"""

from __future__ import annotations

from vlang.records import dataclass
from vlang.syntax.mistakes.more_habits import MORE, MORE_WITH_MARKS
from vlang.syntax.mistakes.queries import QUERIES
from vlang.syntax.mistakes.rows import Row, row

__all__ = ["Habit", "habit_of", "habit_with_marks"]


@dataclass(frozen=True)
class Habit:
    """A line of another language.

    Attributes:
        title: the mistake, by the name of the construct.
        help: advice in words.
        write: the lines to write instead; empty without a proposal.
        mark: the offsets in the line of the part to mark.
    """

    title: str
    help: tuple[str, ...]
    write: tuple[str, ...]
    mark: tuple[int, int]


_FOLDED = "max|min|sum|any|all"
_ARROW = r"(NAME (?:->|--) self|self (?:->|--) NAME)"
_LISTS = r"list|set|List|Set|array|vertexset|Sequence|Iterable"
# Semirings of GraphBLAS: the name, the reduction, and the operation.
_SEMIRINGS = (("min_plus", "min", "+"), ("max_plus", "max", "+"), ("plus_times", "sum", "*"), ("min_times", "min", "*"),
              ("max_times", "max", "*"), ("plus_plus", "sum", "+"), ("lor_land", "any", "and"))

_ROWS = (
    # Python: loops and statements
    row(r"for NAME in .*\b(neighbou?rs|nbrs|edges)\b.*:", "a loop over \\1 is written inside a reduction",
         "every vertex combines its neighbours in one `gather`, as in `gather total = sum(u.degree for u -> self)`"),
    row(r"(?:break|continue)", "no statement leaves a loop",
         "a loop ends by its number (`repeat 10 times:`), by `repeat until ...:`, or when nothing changes any more"),
    row(r"pass", "there is no `pass`", "leave the block out"),
    row(r"assert (.+)", "`assert` is written `require`",
         "a contract about parameters, edge fields and vertex fields that the caller passes"),
    row(r"(?:import|from) .*", "there is no `import` in the language", "every function is there already"),
    row(r"print\(NAME(?:, ?NAME)*\)", "there is no `print`: fields and globals are the outputs", "leave this line out"),
    row(r"print\((.+)\)", "there is no `print`: fields and globals are the outputs",
         "leave this line out, and name a value of the whole graph as an output with `global`, as in "
         "`global shown = max(v.degree for v in vertices)`"),
    row(r"do:", "a loop begins with `repeat`", "`repeat until c:` tests c after every superstep", "repeat:"),
    row(r"while True:", "there is no `while`", "`repeat` runs until nothing changes", "repeat:"),
    row(r"repeat while (.+):", "`repeat while` is written `repeat until`",
         "the condition that ends the loop, tested after each superstep:", r"repeat until not (\1):"),
    row(r"repeat for (.+) times:", "`repeat` needs no `for`", "the number comes first:", r"repeat \1 times:"),
    row(r"repeat (\w+):", "`repeat` with a number needs `times`", "the number of supersteps:", r"repeat \1 times:"),
    row(r"until (.+):", "a loop begins with `repeat`", "`until` comes after it:", r"repeat until \1:"),
    row(r"until (.+)", "`until` stands beside `repeat`", "at the head of the loop: `repeat until c:`"),
    row(r"let (NAME), (NAME) = (.+), (.+)", "one `let` names one value, or the parts of a tuple",
         "a tuple has brackets:", r"let (\1, \2) = (\3, \4)"),
    row(r"(NAME): (int|float|bool|vertex|[iuf]\d+)( = .+)?", "a field is declared with `vertex`",
         "one value per vertex:", r"vertex \1: \2\3"),
    row(r"(?:let )?(NAME) = lambda (NAME): (.+)", "a function is declared with `fn`", "at the top level:",
         r"fn \1(\2: float) = \3"),
    row(r"let (NAME) = lambda .*", "a function is declared with `fn`", "`fn f(x: float) = x * x`"),
    row(r"apply (.+) = (.+?) if ((?:(?! else ).)+)", "`if` in a value needs `else`",
         "the value where the condition does not hold:", r"apply \1 = \2 if \3 else \1"),
    row(r"(?:apply )?(NAME)(?:\+\+|--)", "there is no `++` or `--`", "add 1:", r"apply \1 += 1"),
    row(r"(.*?)(self|NAME) in [\[(](NAME), (NAME)[\])](.*)", "`in` needs a parameter of type `vertices`",
         "single vertices are compared:", r"\1(\2 == \3 or \2 == \4)\5"),
    row(r"(.*) in [\[({].*", "`in` needs a parameter of type `vertices`",
         "a list of vertices is declared in the header, `program p(S: vertices)`, and given in the call: S=1,2"),
    row(r"(.*)<>(.*)", "`<>` is written `!=`", "not equal:", r"\1!=\2"),
    row(r"(.*)\((NAME) := (.*)\)", "`:=` names no value inside an expression", "`let` names one before the statement",
         r"\1(\3)"),
    row(r"(gather|let) (NAME = NAME)\(\[(.*)\]\)", "a reduction has no square brackets", "only its own:",
         r"\1 \2(\3)"),
    row(r"(.*) for (NAME) in self\.(?:neighbou?rs|edges|nbrs)(?:\(\))?(.*)", "neighbours are written with an arrow",
         "in-edges: `for u -> self`; out-edges: `for self -> u`; both: `for u -- self`", r"\1 for \2 -- self\3"),
    row(r"(vertex|edge) (NAME): (?:string|str|text|object|enum|factor)\b(.*)", "texts are named values: a `category`",
         "a column of names, which a program compares:", r"\1 \2: category\3"),
    row(r"(program NAME\(.*?NAME): (?P<at>string|str|text|object|enum|factor)\b(.*)",
         "`\\2` is no type: texts are named values, a `category`", "the call gives the name:", r"\1: category\3"),
    row(r"(vertex|edge) (NAME): (?:datetime64|datetime|timestamp|Date|Timestamp)\b(.*)", "a point in time is a `time`",
         "`date` counts days, `time` seconds, and `time[ms]` milliseconds:", r"\1 \2: time\3"),
    row(r"apply (NAME) = (NAME) (?P<at>=) ([^=]+)", "a statement assigns once with `=`",
         "several fields are written as a tuple:", r"apply (\1, \2) = (\4, \4)"),
    row(r'(?P<at>""")(.*)"""', "a comment begins with `#`, not with `\"\"\"`",
         "the comment above the header is the program's documentation", r"# \2"),
    row(r"(.*)\b(max|min)\(vertices, ?(?P<at>key) ?= ?(NAME)\)(.*)",
         "a reduction has no `key`: tuples compare by their first part",
         "the vertex is the second part of the best tuple, of equal ones the last:",
         r"\1\2((v.\4, v) for v in vertices)[1]\5"),
    row(r"(?:(?:var|let|const) )?(NAME)(?: ?: ?.*?)? = (?:new )?(?P<at>vertexset|set|deque|list|dict|queue|\[\])\b.*",
         "there is no `\\2`: nothing keeps a list of vertices",
         "leave this line out: `repeat` goes on with the vertices that changed, and `vertex seen: bool` marks a set"),
    row(rf"(program NAME\(.*?NAME): (?P<at>{_LISTS})\b(?:\[\w+\])?(.*)",
         "`\\2` is no type: a list of vertices is `vertices`", "the call gives the list:", r"\1: vertices\3"),
    row(r"(.*) for (NAME) in filter\((?P<at>lambda) (NAME): (.+), (?:self\.)?neighbou?rs(?:\(self\))?\)\)",
         "a reduction needs no `filter(lambda ...)`: `if` follows its arrow", "of the neighbours in both directions:",
         r"\1 for \4 -- self if \5)"),
    row(r"global NAME = (?P<at>f\".*\")", "there is no `f\"...\"`: outputs are numbers", "leave this line out"),
    row(r"(?P<at>output|report|emit) (NAME)(: ?\w+)? = (.*)", "a value of the whole graph is a `global`",
         "globals are outputs:", r"global \2\3 = \4"),
    row(r"(?P<at>return)\b.*", "there is no `return` in the language",
         "leave this line out: fields and globals are the outputs"),
    # pandas, NumPy
    *(row(rf"(.* = )(?P<at>(?:np|numpy|torch)\.{said})\(.*\)", "`\\2` is not needed: one number fills a vector",
           "for all components:", rf"\g<1>{number}") for said, number in (("zeros", "0"), ("ones", "1"))),
    *(row(rf"(.*)(?P<at>(?:np|numpy)\.{fold}\()\[?([^\[\]]+) for {_ARROW}\]?(?:, ?axis ?= ?0)?\)(.*)",
           "`\\2` has no brackets and no axis: a reduction ranges over the neighbours",
           "vectors are combined component by component:", write)
      for fold, write in (("mean", r"\1sum(\3 for \4) / max(count(true for \4), 1)\5"),
                          *((fold, rf"\1{fold}(\3 for \4)\5") for fold in ("sum", "max", "min")))),
    row(r"(let|global) (NAME) = (?:vertices\.)?(NAME)\.mean\(\)", "a column has no methods",
         "a reduction over the vertices has the value; a mean of none needs a `default`:",
         r"\1 \2 = mean(v.\3 for v in vertices, default = 0)"),
    row(rf"(let|global) (NAME) = (?:vertices\.)?(NAME)\.({_FOLDED})\(\)", "a column has no methods",
         "a reduction over the vertices has the value:", r"\1 \2 = \4(v.\3 for v in vertices)"),
    row(r"(.*)\b(?:np|numpy|math|torch)\.(?:linalg\.|special\.|nn\.functional\.)?(NAME)\((.*)",
         "functions stand alone, without the name of a module", "for example `log(x)`:", r"\1\2(\3"),
    row(r"apply (NAME) = \1\.fillna\((.+)\)", "a field has no methods", "`isnan(x)` says whether a value is missing:",
         r"apply \1 = \2 if isnan(\1) else \1"),
    row(r"apply (NAME)(?P<at>\[:\]) = (.+)", "`\\2` is not needed: `apply` writes the whole vector", "by its name:",
        r"apply \1 = \3"),
    row(r"apply (NAME)\[(.+)\] = (.+)", "a condition in brackets chooses no vertices", "`where` does:",
         r"where \2: apply \1 = \3"),
    row(r"gather (NAME) = .*\.?groupby\(u\.(NAME)\).*", "`gather` combines all neighbours; it forms no groups",
         "of integers, `max(count(true for u) for u -> self by k = u.\\2)` is the size of the largest group, "
         "`count(true for u -> self by k = u.\\2)` the number of groups, and `mode(u.\\2 for u -> self, default = 0)` "
         "the most frequent value"),
    row(r"(NAME)\.(?P<at>i?loc|at)\[([^,]+)\] = (.+)", "`\\2` chooses no vertices", "`where` does:",
         r"where \3: apply \1 = \4"),
    row(r'NAME\.(?P<at>i?loc|at)\[(.+), ?"(NAME)"\] = (.+)', "`\\1` chooses no vertices", "`where` does:",
         r"where \2: apply \3 = \4"),
    # C
    row(r"(.*\(.*)\b(?!self\b)(NAME)(?P<at>->(?!self\b)(NAME))(.* for .*)", "`\\2\\3` is written with a dot",
         "the field of a neighbour:", r"\1\2.\4\5"),
    row(r"vertex (int|float|bool) (NAME)(.*)", "the type comes after the name", "with a colon:", r"vertex \2: \1\3"),
    row(r"//.*", "a comment begins with `#`", "`//` is a division that rounds down"),
    # Cypher, SQL
    row(r"(?P<at>WITH|with) (.+) (?:AS|as) (NAME)", "`\\1` is written `let`", "one value for the whole graph:",
         r"let \3 = \2"),
    *(row(rf"(?P<at>(?i:select)) (?i:{said})\((NAME)\) (?i:from) NAME", "`\\1` is a reduction over the vertices",
           "an output of the whole graph:", rf"global \2_{fold} = {fold}(v.\2 for v in vertices{rest})")
      for said, fold, rest in (*((name, name, "") for name in ("sum", "max", "min")),
                               ("avg", "mean", ", default = 0"))),
    row(r"MATCH\b.*", "there is no `MATCH`: a pattern of one edge is a `gather`",
         "every vertex combines its neighbours, as in `gather most = max(u.degree for u -> self)`"),
    row(r"(.*)for \((NAME)\)-->\(self\)(.*)", "a domain has no brackets", "the arrow points as the edge does:",
         r"\1for \2 -> self\3"),
    row(r"gather (NAME) = count\(\*\)", "`count(*)` needs a condition and a domain", "of all in-edges:",
         r"gather \1 = count(true for u -> self)"),
    row(r"(global|let) (?:(?! for ).)*(?P<at>\bgroup by|\bGROUP BY)\b(?:(?! for ).)*",
        "there is no `\\2` over the vertices",
        "leave this line out: in Python, `numpy.unique(result[\"x\"], return_counts=True)` counts the values of x"),
    row(r"(.*?)(?P<at>\b(?:CASE|case) (?:WHEN|when)\b) ((?:(?!\bWHEN\b|\bwhen\b).)+) (?:THEN|then) (.+?) "
         r"(?:ELSE|else) (.+?) (?:END|end)\b(.*)", "`CASE` is written with `if` and `else`", "the value comes first:",
         r"\1(\4 if \3 else \5)\6"),
    row(r".*(?P<at>\bCASE\b).*", "`CASE` is written with `if` and `else`", "`a if c else b if d else e`"),
    row(r"(.*)\b(?P<at>count\(DISTINCT) (.+?) for (NAME (?:->|--) self|self (?:->|--) NAME)\)(.*)",
         "`DISTINCT` values are groups", "`by` makes a group of every value, and the groups are counted:",
         r"\1count(true for \4 by each = \3)\5"),
    row(r".*(?P<at>\bDISTINCT\b).*", "there is no `DISTINCT`",
         "over edges, `count(true for u -> self by each = u.x)` counts the values of `u.x`"),
    row(r"(?P<at>RETURN)\b.*", "there is no `RETURN`: fields and globals are the outputs", "leave this line out"),
    row(r"(?P<at>SET|Set|set) (?:NAME\.)?(NAME) = (.+)", "`\\1` is written `apply`", "a vertex writes its own field:",
         r"apply \2 = \3"),
    # GraphIt
    row(r"(?:func|function|proc) .*", "a function is declared with `fn`, and has no effects",
         "`fn f(x: float) = x * x`; what a vertex does is written in `gather` and `apply`"),
    row(r"edges(?:et)?\.\w+\(.*\).*", "edges have no methods",
         "what every edge contributes is the expression of a `gather`:",
         "gather most = max(u.degree for u -> self)"),
    row(r"(?:let )?(NAME) = vertices\.filter\((.+)\)", "there is no frontier to filter",
         "`where` runs a block for some vertices; after a superstep, vertices that changed are active by themselves"),
    row(r"apply (NAME) ?\((?P<at>(?:mask ?= ?)?)(.+)\) = (.+)", "a mask in brackets chooses no vertices",
         "`where` does:", r"where \3: apply \1 = \4"),
    row(r"(NAME) ?(?P<at><(?:mask ?= ?)?((?:[^<>=]|==|!=)+)>) ?(?:=|<<) ?(.+)",
         "a mask in brackets chooses no vertices", "`where` does:", r"where \3: apply \1 = \4"),
    *(row(rf"(.*)\b(?P<at>{name})\(({first}), ({second}) for (.*)", f"`{name}` is a reduction and an operation",
           "the operation is written out:", rf"\1{fold}({left} {operator} {right} for \5")
      for name, fold, operator in _SEMIRINGS for first, left in ((r"[\w.]+", r"\3"), (r"[^,]+", r"(\3)"))
      for second, right in ((r"[\w.]+", r"\4"), (r"[^,]+", r"(\4)"))),
    row(r".*(?P<at>priority_?queue|PriorityQueue|bucket_?queue)\b.*", "there is no `\\1`: a loop orders its vertices",
         "leave this line out: runs order the vertices by their values where this is faster"),
    # Pregel
    row(r"(?:(?:public )?void |def |func )?(?P<at>compute|vertex_program|superstep|main)\(.*\)(?: ->.*)?:",
         "there is no method `\\1`: the block of a `repeat` is a superstep", "it runs for all vertices:", "repeat:"),
    row(r"vote_?to_?halt\(\)", "a vertex that does not change is inactive by itself",
         "leave this line out; `activate when c` is a narrower condition"),
    row(r"aggregate (NAME) = (sum|min|max|mean)\((NAME)\)", "an aggregate is a `let` over the vertices",
         "one value for the whole graph:", r"let \1 = \2(v.\3 for v in vertices)"),
    row(r"(?P<at>combiner|aggregator|reducer)\b.*", "there is no `\\1`: every `gather` names its reduction",
         "leave this line out: `gather near = min(...)` combines by `min`"),
    row(r"(?:vertex|this|self|v)\.value = (.+)", "a vertex writes a field by its name with `apply`",
         "the field that is meant, for example `apply x = \\1`"),
)

_WITH_MARKS = (
    *(row(rf"(?P<at>for \((?:int|size_t|auto)) (NAME) = (\w+); ?\2 ?{sign} ?([^;<=]+); ?"
          r"(?:\2\+\+|\+\+\2|\2 \+= 1)\) ?\{?:?",
           "`\\1 ...` is written `for ... from ... to`", "both numbers are included:", rf"for \2 from \3 to {last}:")
      for sign, last in (("<", r"\4 - 1"), ("<=", r"\4"))),
    *(row(rf"(?P<at>{name}Accum)<(\w+)> @(NAME)(?: = .+)?", "`\\1` is a field: each `gather` names its reduction",
           "one value per vertex:", rf"vertex \3: \2 = {start}")
      for name, start in (("Sum", "0"), ("Min", "inf"), ("Max", "-inf"), ("Or", "false"), ("And", "true"))),
    row(r"(?:apply )?(?P<at>@@)(NAME) \+= (NAME)", "`@@` marks no value of the graph: `global` does",
         "a sum over the vertices:", r"global \2 = sum(v.\3 for v in vertices)"),
    row(r"([^@]*)(?P<at>@)(NAME)([^@]*)", "a field is read without `@`", "by its name:", r"\1\3\4"),
    row(r"(?:vertex|edge|global) NAME: (?P<at>dict|set|map)\b.*", "there is no type `\\1`: a field holds numbers",
         "leave this line out: a reduction `by` a key makes groups"),
)
"""Lines with characters that the language does not have."""


def habit_of(line: str) -> Habit | None:
    """The habit whose pattern matches a whole line of text; None if no pattern matches."""
    return _matched((*QUERIES, *MORE, *_ROWS), line)


def habit_with_marks(line: str) -> Habit | None:
    """Return the habit of a line with a character that vlang does not have; None if no pattern matches."""
    return _matched((*MORE_WITH_MARKS, *_WITH_MARKS), line)


def _matched(rows: tuple[Row, ...], line: str) -> Habit | None:
    for one in rows:
        found = one.pattern.fullmatch(line)
        if found is not None:
            mark = found.span("at") if "at" in found.re.groupindex else (0, len(line))
            return Habit(found.expand(one.title), (found.expand(one.help),),
                         tuple(found.expand(text) for text in one.write), mark)
    return None

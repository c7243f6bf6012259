"""Rows for lines of GraphX, igraph, DGL, SQL and pandas. These rows are tried before the rows of `habits.py`."""

from __future__ import annotations

from vlang.syntax.mistakes.rows import row

__all__ = ["MORE", "MORE_WITH_MARKS"]

_ARROW = r"(NAME (?:->|--) self|self (?:->|--) NAME)"
_GATHER = "as in `gather most = max(u.degree for u -> self)`"

_REDUCTION = r"((?:gather|let|global|apply|vertex) NAME(?:: ?\w+)? = (?:mean|max|min|sum|mode|median)" \
    r"\((?:[^()]|\([^()]*\))* for (?:[^()]|\([^()]*\))*)"

MORE = (
    # a value for no contributions
    row(_REDUCTION + r"\),? ?(?P<at>else|otherwise|default) ?=? ?([^()=]+)",
        "the value of a reduction for no contributions is its `default`", "inside the brackets:",
        r"\1, default = \3)"),
    row(_REDUCTION + r"(?<![, ]),? (?P<at>else|or|otherwise) ([^(),]+)\)",
        "the value of a reduction for no contributions is its `default`", "after a comma:", r"\1, default = \3)"),
    *(row(pattern, "only `apply` writes a field", "a field is assigned:", rf"apply \{x} = normalize(\{x})")
      for pattern, x in ((r"(?:apply )?(?P<at>normali[sz]e)(?: |\()(NAME)\)?", 2),
                         (r"(?:apply )?(NAME)\.(?P<at>normali[sz]e)\(\)", 1),
                         (r"(?:apply )?(NAME) = \1\.(?P<at>normali[sz]e)\(\)", 1))),
    row(r"edge (?P<at>var|mutable) (NAME: .+)", "there is no `edge \\1`: edge fields are read-only",
        "an edge state keeps a value for each edge:", r"edge state \2"),
    # loops and assignments
    row(r"repeat until (?P<at>no (?:vertex|value|field|more)?.*chang\w*|nothing changes|unchanged|stable|convergence|"
        r"fix(?:ed ?)?point)(?: any ?more)?:", "`\\1` is what ends a `repeat` without a condition", "nothing else:",
        "repeat:"),
    *(row(rf"repeat {word} (?P<at>{said}) (NAME)(?: in vertices)?(?: ?[:,|]| such that| with) (.+):",
          "`\\1` is a reduction over the vertices", "one value for the whole graph:",
          rf"repeat until {test}({fold}(\3 for \2 in vertices)){{}}:".replace("{}", ""))
      for word, test in (("while", "not "), ("until", "")) for said, fold in (("exists|some|any", "any"),
                                                                             ("for ?all|every|all", "all"))),
    row(r"(?:apply )?(NAME) (?P<at>(min|max)=) ((?:(?! for ).)+)", "there is no `\\2`", "the function is written out:",
        r"apply \1 = \3(\1, \4)"),
    row(r"gather (NAME)(?P<at>: \w+(?:\[\w+\])?) = (.+)", "a `gather` has no type: it is that of its reduction",
        "without a type:", r"gather \1 = \3"),
    # Cypher, SQL
    row(r"(vertex NAME: \w+) = ((?:count|COUNT|sum|SUM)\(.+\)) (?P<at>WHERE|where) (.+)",
        "`\\3` chooses edges inside a reduction; outside of it, a value is chosen by `if` and `else`",
        "0 where the condition does not hold:", r"\1 = \2 if \4 else 0"),
    row(r"edge NAME: \w+ = (?P<at>(?:count|COUNT)\(\*\)).*", "an edge field is read from the file, and not computed",
        "leave this line out: in a reduction over edges, `common(self, u)` is the number of common neighbours; an edge "
        "state keeps a value for each edge"),
    row(r"(.*)(?P<at>self in (NAME)\.(?:neighbou?rs|successors|out_neighbou?rs|adj)(?:\(\))?)(.*)",
        "neighbours are no list", "the number of edges from one end to the other:", r"\1edges(\3, self) > 0\4"),
    row(r"(.*)(?P<at>self in (NAME)\.(?:predecessors|in_neighbou?rs)(?:\(\))?)(.*)", "neighbours are no list",
        "the number of edges from one end to the other:", r"\1edges(self, \3) > 0\4"),
    row(r"(?P<at>OPTIONAL MATCH)\b.*", "there is no `\\1`: a pattern of one edge is a `gather`",
        f"a vertex without such an edge gets the `default`, {_GATHER}"),
    row(r"(vertex NAME: bool) = (.*?)(NAME) (?P<at>STARTS WITH|ENDS WITH|CONTAINS|LIKE|like) (\"[^\"]*\")",
        "there is no `\\4`: a category is compared as a whole",
        "a field without a value is an array of the caller, who compares texts in Python:", r"\1"),
    row(r"(.*?)(NAME) (?P<at>STARTS WITH|ENDS WITH|CONTAINS|LIKE|like) (\"[^\"]*\")(.*)",
        "there is no `\\3`: a category is compared as a whole",
        "texts are compared in Python, and the result is passed as a field: `vertex found: bool`"),
    row(r"(.*?)(NAME) (?P<at>BETWEEN|between) (\S+) (?:AND|and) ([^\s),]+)(.*)",
        "`\\3` is written with two comparisons", "both ends are included:", r"\1\4 <= \2 <= \5\6"),
    row(r"(.*?) (?P<at>(?:LEFT |RIGHT |INNER |FULL |OUTER )*JOIN) NAME(?: ON [^)]*)?(.*)",
        "there is no `\\2`: the fields of a vertex are read together", "a neighbour's fields are `u.x` and `u.y`:",
        r"\1\3"),
    # GraphX, Ligra
    row(r"(?:let |apply )?(?:NAME = )?(?P<at>(?:edge|vertex)(?:Map|_map))\(.*\)",
        "there is no `\\1`: statements run for all vertices, and a `gather` reads the edges",
        f"vertices that did not change are left out by themselves, {_GATHER}"),
    row(r"edges(?:et)?\..*\b(?P<at>to\(NAME\)).*", "there is no `\\1`: `where` and `if` choose vertices",
        f"a block under `where` runs for them; every vertex gathers, {_GATHER}"),
    row(r"(?:NAME\.)?(?P<at>map(?:Vertices|_vertices))\(\(NAME, ?(NAME)\) ?=> ?(.+)\)",
        "there is no `\\1`: every statement runs for all vertices", "a vertex writes a field by its name:",
        r"apply \2 = \3"),
    row(r"for (NAME), ?(NAME) in (?P<at>enumerate)\(vertices\):", "there is no `\\3`: vertices have no numbers",
        "they are ordered by their ids, so the smaller ones can be counted:", r"for \2 in vertices:",
        r"    let \1 = int(count(w < \2 for w in vertices))"),
    # Python, pandas
    row(rf"(.*?)(NAME) (?P<at>in) \((NAME)\.(NAME) for {_ARROW}\)(.*)",
        "`\\3` needs a parameter of type `vertices`", "whether some neighbour has this value:",
        r"\1any(\4.\5 == \2 for \6)\7"),
    *(row(rf"(let|global) (NAME(?:: \w+)?) = (NAME)\.(?P<at>agg|aggregate)\([\"']({fold})[\"']\)",
          "a value has no method `\\4`", "a reduction over the vertices has the value:",
          rf"\1 \2 = {fold}(v.\3 for v in vertices{rest})")
      for fold, rest in (("sum", ""), ("min", ""), ("max", ""), ("mean", ", default = 0"))),
    *(row(rf"(let|global) (NAME(?:: \w+)?) = (NAME)\.(?P<at>idx{fold}|arg{fold})\(\)", "a value has no method `\\4`",
          "the vertex is the second part of the best tuple, of equal ones the last:",
          rf"\1 \2 = {fold}((v.\3, v) for v in vertices)[1]")
      for fold in ("max", "min")),
    row(r"(?:(?:vertex|let|global|apply) )?.*\bNAME\.(?P<at>merge|join)\(.*\).*",
        "a value has no method `\\1`: the fields of a vertex are read together",
        "leave this line out: an expression may read several fields"),
    *(row(rf"(.*)\b(?P<at>count)\({_ARROW}((?: if {cond})?)\){rest}", "`\\2` needs a body before `for`",
          "of all edges that the arrow has:", r"\1count(true for \3\4)\5")
      for cond, rest in (("[^()]+", "(.*)"), (".+", "()"))),
    row(r"(.*)\b(?P<at>count)\((NAME) (--|->) (NAME) for \3 -- self for \5 -- self if \3 (?:<|>|!=) \5\)(.*)",
        "a reduction has one `for`: edges between two neighbours end triangles",
        "the common neighbours of both ends of each edge, which count every triangle twice:",
        r"\1(sum(common(self, \3) for \3 -- self) // 2)\6"),
    row(r"(?:apply )?(?P<at>(NAME\[\d\])\.(NAME)) ([-+*]?=) ([^=].*)", "a vertex writes only its own fields, not `\\1`",
        "`where` chooses the vertex:", r"where self == \2:", r"    apply \3 \4 \5"),
    row(r"for (NAME) in (?P<at>(?:random\.)?(?:sample|choices?|choose))\(vertices\b.*\):",
        "there is no `\\2`: the caller chooses the vertices", "a parameter of type `vertices` has them:",
        r"for \1 in chosen:"),
    # Python, Rust, C
    row(r"(?P<at>(NAME), ?(NAME) =) ([^,()=]+), ?([^,()=]+)", "several fields are written as a tuple",
        "both values are computed before the fields are written:", r"apply (\2, \3) = (\4, \5)"),
    row(r"(.*?)(?P<at>\|((?!NAME\|)[^\s|](?:[^|]*[^\s|])?)\|)(.*)", "`\\2` is written `abs(\\3)`",
        "the value without its sign:", r"\1abs(\3)\4"),
    row(r"(.*?)(?P<at>\|(NAME)\|)(.*)", "`\\2` is written `len(\\3)`", "the number of vertices of a set:",
        r"\1len(\3)\4"),
    row(rf"(.*)\bmax\((NAME) for \2 in (?P<at>range)\(.*\) if (?:count|sum)\((NAME)\.(NAME) >= \2 for {_ARROW}\) "
        r">= \2\)(.*)", "a reduction ranges over edges or vertices, not over a `range` of numbers",
        "the largest k such that k values are at least k:", r"\1hindex(\4.\5 for \6)\7"),
    row(r".*\(.+ for NAME in (?P<at>range)\(.*\).*\)",
        "a reduction ranges over edges or vertices, not over numbers",
        "`u -> self`, `self -> u`, `u -- self` or `v in vertices`; "
        "the least number that no neighbour has is `mex(u.x for u -- self)`"),
    *(row(rf"(?:apply )?(NAME) (?P<at>(//|/|%|\*\*|<<|>>)=) ({operand})", "there is no `\\2`",
          "the operation is written out:", write)
      for operand, write in ((r"\w+(?:\.\w+)*", r"apply \1 = \1 \3 \4"), (".+", r"apply \1 = \1 \3 (\4)"))),
    row(r"repeat ([\w.()]+(?: ?(?:[-+*%]|//?) ?[\w.()]+)+):", "`repeat` with a number needs `times`",
        "the number of supersteps:", r"repeat \1 times:"),
    # DGL, PyTorch Geometric
    row(r"(?:NAME\.)?(?P<at>update_all)\((?:fn\.)?copy_(?:u|src)\(\"(NAME)\", ?\"(NAME)\"\), ?(?:fn\.)?(sum|min|max)"
        r"\(\"\3\", ?\"(NAME)\"\)\)", "there is no `\\1`: a vertex gathers from its neighbours",
        "the message and the reduction are one `gather`:", r"gather \3 = \4(u.\2 for u -> self)", r"apply \5 = \3"),
)

MORE_WITH_MARKS = (
    row(_REDUCTION + r"\) ?(?P<at>\?\?|\?:) ?([^()?:]+)", "`\\2` replaces no missing value",
        "the value of a reduction for no contributions is its `default`:", r"\1, default = \3)"),
    row(r"(.*)\b(sum|min|max|any|all)\((?P<at>V\(\w+\)\$(NAME))\)(.*)", "`\\3` is written `v.\\4`",
        "a reduction over the vertices has the value:", r"\1\2(v.\4 for v in vertices)\5"),
    row(r"(global|let) (NAME)((?:: \w+)?) = (sum|min|max)\((?P<at>E\(\w+\)\$(NAME))\)",
        "`\\5` is read along the edges of each vertex", "first at every vertex, then over the vertices:",
        r"vertex \2_here: float = \4(\6 for self -> u)", r"\1 \2\3 = \4(v.\2_here for v in vertices)"),
)

"""Rows for lines of SQL, Cypher, Pregel, GraphIt and pandas. The lines come from a second collection of first program
drafts. These rows are tried before all others.
"""

from __future__ import annotations

from vlang.syntax.mistakes.rows import row

__all__ = ["QUERIES"]

_ARROW = r"(NAME (?:->|--) self|self (?:->|--) NAME)"
_NONE = r"(?:none|None|null|NULL)"
_IS, _IS_NOT = r"(?:is|IS)", r"(?:is not|IS NOT)"
_FOLDS = (("MAX|max", "max", ""), ("MIN|min", "min", ""), ("SUM|sum", "sum", ""), ("AVG|avg", "mean", ", default = 0"))

QUERIES = (
    # SQL
    *(row(rf"(.*= )(?P<at>SELECT|select) (?:{said})\((.+?)\) (?:FROM|from) {_ARROW}{where}",
          "there is no `\\2`: a reduction ranges over an arrow", "its condition is `if`:",
          rf"\1{fold}(\3 for \4{cond}{rest})")
      for said, fold, rest in _FOLDS for where, cond in (("", ""), (r" (?:WHERE|where) (.+)", r" if \5"))),
    *(row(rf"(gather|let) NAME = (?:{said})\((.+)\) (?P<at>AS|as) (NAME)", "there is no `\\3`: a name stands first",
          "before the `=`:", rf"\1 \4 = {fold}(\2{rest})") for said, fold, rest in _FOLDS),
    *(row(rf"(.*= )(?P<at>COUNT|count)\(\*\) (?:for|FOR|from|FROM) {_ARROW}{where}",
          "`\\2(*)` needs a condition and a domain", "of the edges of the arrow:", rf"\1count({body} for \3)")
      for where, body in (("", "true"), (r" (?:WHERE|where|if) (.+)", r"\4"))),
    row(rf"gather (NAME) = (max|min)\(count\((?:\*|NAME)\) for {_ARROW} (?P<at>group by|GROUP BY) (NAME)\.(NAME)\)",
        "`\\4` is written `by NAME = KEY`", "the size of each group, and of these sizes one:",
        r"gather \1 = \2(count(true for \5) for \3 by key = \5.\6)"),
    row(rf"gather (NAME) = (NAME) for {_ARROW} (?P<at>order by|ORDER BY) (\S+)(?: (?:asc|ASC))?(?: (?:limit|LIMIT) 1)?",
        "there is no `\\4`: tuples compare by their first part", "the vertex is `\\1[1]`:",
        r"gather \1 = min((\5, \2) for \3)"),
    row(rf"gather (NAME) = (NAME) for {_ARROW} (?P<at>order by|ORDER BY) (\S+) (?:desc|DESC)(?: (?:limit|LIMIT) 1)?",
        "there is no `\\4`: tuples compare by their first part", "the vertex is `\\1[1]`:",
        r"gather \1 = max((\5, \2) for \3)"),
    row(r"(.*= )(?P<at>case|CASE) (?:when|WHEN) (.+?) (?:then|THEN) (.+?) (?:when|WHEN) (.+?) (?:then|THEN) (.+?) "
        r"(?:else|ELSE) (.+?) (?:end|END)", "`\\2` is written with `if` and `else`", "the value comes first:",
        r"\1\4 if \3 else \6 if \5 else \7"),
    row(r"(vertex NAME: \w+) = (.+) / (?P<at>sum\((NAME)\) (?:over|OVER) ?\(\))",
        "there is no `over`: one value for the whole graph needs a name", "`let` names it before:",
        r"let total = sum(v.\4 for v in vertices)", r"\1 = \2 / total"),
    *(row(rf"(.*?)\b({name}) (?P<at>in|IN) [\[(]{', '.join([item] * count)}[\])](.*)",
          "`\\3` needs a parameter of type `vertices`", "single values are compared:",
          r"\1(" + " or ".join(rf"\2 == \{k + 4}" for k in range(count)) + rf")\{count + 4}")
      for item, name in (('("[^"]*")', r"NAME(?:\.NAME)?"), (r"(\d+)", r"NAME\.NAME|(?!self\b)[a-z]\w+"))
      for count in (2, 3)),
    row(rf"(.*?)(\S+) (?P<at>{_IS}) {_NONE}\b(.*?)<>(.*)", "`\\3` is written `==`, and `<>` is written `!=`",
        "`none` is compared like other vertices:", r"\1\2 == none\4!=\5"),
    row(rf"(.*) (?P<at>{_IS_NOT}) {_NONE}\b(.*)", "`\\2` is written `!=`", "`none` is compared like other vertices:",
        r"\1 != none\3"),
    row(rf"(.*) (?P<at>{_IS}) {_NONE}\b(.*)", "`\\2` is written `==`", "`none` is compared like other vertices:",
        r"\1 == none\3"),
    # Cypher
    row(rf"(.*)(?P<at>size\(collect\((?:distinct|DISTINCT) (\S+) for {_ARROW}\)\))(.*)",
        "there is no `collect`: groups of edges are counted", "one group for each value:",
        r"\1count(true for \4 by each = \3)\5"),
    *(row(rf"(.*)\b(?:count|size)\((?P<at>{pattern})\)(.*)", "`\\2` is a pattern of Cypher",
          "a reduction ranges over an arrow:", rf"\1count(true for {arrow})\4")
      for pattern, arrow in ((r"\((NAME)\)-->\(self\)", r"\3 -> self"), (r"\(self\)-->\((NAME)\)", r"self -> \3"),
                             (r"\((NAME)\)--\(self\)", r"\3 -- self"), (r"\(self\)--\((NAME)\)", r"\3 -- self"))),
    # Pregel, Giraph
    row(r"(?P<at>send) .* to .*", "there is no `\\1`: a vertex gathers from its neighbours",
        "leave this line out: what is sent stands in the `gather` of the receiver, "
        "as `min(u.dist + weight for u -> self)`"),
    row(r"(?P<at>aggregate)\((NAME), (NAME) if (NAME) (==|!=|<=?|>=?) (\S+) else 0\)",
        "there is no `\\1`: `let` names one value for the whole graph", "in every superstep:",
        r"let \2 = sum(v.\3 for v in vertices if v.\4 \5 \6)"),
    row(r"(.*?\bNAME\.)(?P<at>getValue)\(\)(.*)", "a value has no method `\\2`", "a field is read by its name:",
        r"\1value\3"),
    row(r"apply (?P<at>setValue)\((.*)\bgetValue\(\)(.*)\)", "there is no `\\1`: `apply` writes a field by its name",
        "own fields have no owner:", r"apply value = \2value\3"),
    # GraphIt
    row(rf"(?:apply )?(NAME) (?P<at>(min|max)=) (.+) for {_ARROW}((?: if .+)?)", "there is no `\\2`",
        "gather first, then combine with the old value:", r"gather \1_\3 = \3(\4 for \5\6)",
        r"apply \1 = \3(\1, \1_\3)"),
    row(r"(?P<at>const (?:float|double|int|long|bool|auto)) (NAME) = ([^;]+);?", "`\\1` is written `let`",
        "one value for the whole graph:", r"let \2 = \3"),
    row(r"(?P<at>const) (NAME)(?:: ?\w+)? = ([^;]+);?", "there is no `\\1`: `let` names a value",
        "or a parameter in the header, `program p(\\2 = \\3)`:", r"let \2 = \3"),
    # Python, pandas
    row(rf"gather (NAME) = (?P<at>[\w.]+(?: ?[-+*/] ?[\w.]+)*) for {_ARROW}((?: if .+)?)",
        "many neighbours, one `\\1`: how are they combined?", "a `gather` has a reduction (min, max, sum, any, ...):",
        r"gather \1 = min(\2 for \3\4)"),
    row(r"(.*\b(?:mean|min|max|median|mode)\(.*)\)(?P<at>\.fillna\((.+)\))", "a value has no method `fillna`",
        "what a vertex without neighbours gets is the `default`:", r"\1, default = \3)"),
    row(r"(vertex NAME: \w+) = (.+) / (?P<at>(NAME)\.sum\(\))", "a value has no method `sum`",
        "one value for the whole graph is named with `let`:", r"let total = sum(v.\4 for v in vertices)",
        r"\1 = \2 / total"),
    row(r"repeat until (NAME)(?P<at>\.diff\(\)\.abs\(\)\.(max|sum|mean)\(\)) (<=?) (.+):",
        "a value has no method `diff`", "`change` is the change of a field in a superstep:",
        r"repeat until \3(abs(change(v.\1)) for v in vertices) \4 \5:"),
    row(rf"(.*= )(?P<at>sorted)\((NAME) for {_ARROW}, ?key ?= ?(NAME)\)\[0\](.*)",
        "there is no `\\2`: tuples compare by their first part", "the vertex is the second part of the least tuple:",
        r"\1min((\5, \3) for \4)[1]\6"),
    row(r"(?:global|let) NAME(?:: \w+)? = (?P<at>nlargest|nsmallest|topk|sorted)\(.*\)",
        "there is no `\\1`: results are ordered afterwards",
        "leave this line out: `vlang run ... --top 5` shows the largest values, and Python orders `result[...]`"),
    row(r'(.*)\((?P<at>NAME\["(NAME)"\]) for (NAME), ?NAME in self\.edges(?:\(.*\))?\)(.*)',
        "`\\2` is read by its own name, without an edge", "of the edges in both directions:",
        r"\1(\3 for \4 -- self)\5"),
)

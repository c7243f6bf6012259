"""`vlang fmt` keeps program and comments and gives a canonical layout. A second call changes nothing."""

from __future__ import annotations

import io
import random
import re
import stat
from functools import cache
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.cli.conftest import Call, vlang
from tests.reference.generators.programs import Generated, programs
from tests.sample import EXHAUSTIVE
from vlang.check import parse
from vlang.errors import ProgramError
from vlang.syntax.dump import dump
from vlang.syntax.layout.format import format_text
from vlang.syntax.layout.spacing import read_rows

__all__ = ["vlang"]

TESTS = Path(__file__).resolve().parents[1]
PLACES = ("reference/design/*.vp", "../stdlib/*.vp", "../examples/*.vp", "../examples/tutorial/*.vp", "mistakes/*/*.vp")



def parses(text: str) -> bool:
    try:
        parse(text, "p.vp")
    except ProgramError:
        return False
    return True


@cache
def texts(place: str) -> dict[str, str]:
    """Return the programs below `place` that the parser accepts, by name."""
    found = {f"{path.parent.name}-{path.stem}": path.read_bytes().decode() for path in sorted(TESTS.glob(place))}
    return {name: text for name, text in found.items() if parses(text)}


TEXTS = st.deferred(lambda: st.sampled_from([text for place in PLACES for text in texts(place).values()]))


def tree(text: str) -> str:
    return dump(parse(text, "p.vp"))


def formatted(text: str) -> str:
    """Check the properties that every layout has, and return the layout of a text."""
    result = format_text(text)
    assert tree(result) == tree(text)
    assert format_text(result) == result
    assert not re.search(r"[ \t\r]\n|\n\n\n|\A\n|\n\n\Z", result)
    assert result.endswith("\n")
    return result


@pytest.mark.parametrize("place", PLACES)
def test_programs(place: str) -> None:
    assert texts(place)
    for name, text in texts(place).items():
        print(name)
        formatted(text)


@pytest.mark.parametrize("path", sorted((TESTS / "reference/design").glob("*.vp")), ids=lambda p: p.stem)
def test_the_programs_of_the_design_are_laid_out_like_this(path: Path) -> None:
    text = path.read_text()
    changed = [a for a, b in zip(text.splitlines(), format_text(text).splitlines(), strict=True) if a != b]
    # In one file names are aligned with `activate`, in one a longer name is not aligned, in one an edge field is not.
    assert len(changed) <= {"sssp": 3, "bipartite": 2, "sssp_tree": 1}.get(path.stem, 0)


@pytest.mark.parametrize("path", sorted((TESTS / "../stdlib").glob("*.vp")), ids=lambda p: p.stem)
def test_the_programs_that_come_along_are_laid_out(path: Path) -> None:
    text = path.read_text()
    assert format_text(text) == text, f"vlang fmt stdlib/{path.name}"


@settings(max_examples=60 if EXHAUSTIVE else 20)
@given(programs())
def test_random_programs(generated: Generated) -> None:
    formatted(generated.text)


@settings(max_examples=60 if EXHAUSTIVE else 20)
@given(TEXTS, st.randoms(use_true_random=False))
def test_other_spaces_have_the_same_layout(program: str, chance: random.Random) -> None:
    text = format_text(program)
    other = respaced(text, chance)
    assert formatted(other) == text


@settings(max_examples=60 if EXHAUSTIVE else 20)
@given(TEXTS, st.randoms(use_true_random=False))
def test_comments_and_line_ends_anywhere(program: str, chance: random.Random) -> None:
    text = disturbed(program, chance)
    result = formatted(text)
    comments = re.compile(r"#[^\n]*")
    assert [c.rstrip() for c in comments.findall(result)] == [c.rstrip() for c in comments.findall(text)]


def respaced(text: str, chance: random.Random) -> str:
    """Return the text with other numbers of spaces outside of literals, and other widths of indentation."""
    def spaced(code: str) -> str:
        code = re.sub(r" +", lambda m: " " * chance.randint(1, 3), code)
        return re.sub(r"(?<=[(,\[])|(?=[),:\]])", lambda m: " " * chance.choice((0, 0, 1, 4)), code)

    unit = chance.randint(1, 9)
    lines = []
    for line in text.split("\n"):
        code, mark, comment = line.partition("#")
        depth, code = (len(code) - len(code.lstrip())) // 4, code.strip()
        code = "".join(part if part[:1] == '"' else spaced(part) for part in re.split(r'("[^"]*")', code))
        lines.append(" " * (unit * depth) + code + (" " * chance.randint(0, 3) if code else "") + mark + comment)
        lines += [" " * chance.randint(0, 5)] * (chance.randint(0, 2) if not line else 0)
    return "\n".join(lines)


def disturbed(text: str, chance: random.Random) -> str:
    """Return the text with comments and blank lines between its lines, and with line breaks inside of lines."""
    lines = []
    for row in read_rows(text if text.endswith("\n") else text + "\n").rows:
        line = " " * (3 * row.depth)
        for i, piece in enumerate(row.pieces):
            line += " " * (i > 0 and piece.spaced)
            inside = piece.depth > 0 or piece.closes
            if i and chance.random() < 0.15:
                line += chance.choice(["\n", "  # c\n\n", "\n# d\n  # e\n"] if inside else [" \\\n", "\\ \r\n  "])
                line += " " * chance.randint(0, 12)
            line += piece.text
        lines += chance.choice([[], [], [""], ["", "# a"], [" " * chance.randint(0, 9) + "# b", "", ""]])
        lines.append(line + chance.choice(["", "", "# x", "    #y  "]))
    return chance.choice(["\n", "\r\n"]).join(lines) + chance.choice(["", "\n", "\n\n   # end\n\n"])


# ---------------------------------------------------------------------- the rules, one by one


def test_columns_of_declarations_and_assignments() -> None:
    assert formatted("""\
program p ( k:int , t=0.5, )
edge weight:float=1
vertex a , b : int = 0 if self==1 else inf
vertex longer:float[2]
global total = 3

repeat at most k times until max( v.a for v in vertices )>t :
  gather near=min(u.a for u->self)
  apply a=min(a,near)
  apply b+=- near
  apply (a,b)=(b,a)
  let x=-(-1)
  activate when a<old(a)
""") == """\
program p(k: int, t = 0.5,)
edge   weight: float = 1
vertex a, b:   int   = 0 if self == 1 else inf
vertex longer: float[2]
global total = 3

repeat at most k times until max(v.a for v in vertices) > t:
    gather near = min(u.a for u -> self)
    apply  a    = min(a, near)
    apply  b   += -near
    apply  (a, b) = (b, a)
    let    x = -(-1)
    activate when a < old(a)
"""


def test_a_blank_line_a_comment_or_another_block_begins_new_columns() -> None:
    text = """\
program p
vertex a: int = 0

vertex abc: int = 0
# about what follows
vertex abcdef: int = 0
repeat 2 times:
    apply a = 1
    where a > 0:
        apply abcdef = 1
    apply abc = 1
"""
    assert formatted(text) == text


def test_comments_belong_to_the_block_of_their_column() -> None:
    assert formatted("""\


# doc
program p   # header
vertex a: int = 0
repeat:
      # first

      apply a = 1 # one
      where a > 0: # two
            apply a = 2
            # inner
        # still the repeat


     # left of the repeat's block
# top
apply a = 3

# end

""") == """\
# doc
program p  # header
vertex a: int = 0
repeat:
    # first

    apply a = 1   # one
    where a > 0:  # two
        apply a = 2
        # inner
    # still the repeat

# left of the repeat's block
# top
apply a = 3

# end
"""


def test_lines_stay_broken_where_they_were() -> None:
    assert formatted("""\
program p
vertex a: int = 0
repeat:
    gather near = min(u.a +
  1 # why
  # and how
       for u -> self)
    apply a = max(
      a,
      min( near, [1,
      2][0]
      )
    )
    apply a = a + \\
     1
""") == """\
program p
vertex a: int = 0
repeat:
    gather near = min(u.a +
                      1  # why
                      # and how
                      for u -> self)
    apply  a    = max(
        a,
        min(near, [1,
                   2][0]
            )
    )
    apply  a    = a + \\
            1
"""


@pytest.mark.parametrize(("written", "laid_out"), [
    ("a--b", "a - -b"), ("a---b", "a - - -b"), ("1 .x", "1 .x"), ("a**-b", "a ** -b"), ("not(a)", "not (a)"),
    ("-a**2", "-a ** 2"), ("[1,2] [0]", "[1, 2][0]"), ("(a,b) [0]", "(a, b)[0]"), ("f ( )", "f()"),
    ("a if(b)else(c)", "a if (b) else (c)"), ("u . x . y", "u.x.y"), ("+ a", "+a"), ("float( a )", "float(a)"),
    ("sum(u.a-1 for self--u if(a),default=-1)", "sum(u.a - 1 for self -- u if (a), default = -1)"),
    ("a&b<<1|c", "a & b << 1 | c"), ("0x1F", "0x1F"), (".5", ".5"),
])  # fmt: skip
def test_spaces_in_expressions(written: str, laid_out: str) -> None:
    assert formatted(f"program p\nlet x={written}") == f"program p\nlet x = {laid_out}\n"


def test_a_remark_far_right_moves_only_its_neighbours() -> None:
    text = "program p\nvertex a: int = 0  # one\nvertex b: int = 12345\nvertex c: int = 1    # two\n"
    text += "vertex d: int = 999  # three\n"
    assert formatted(text) == text


def test_a_deep_text_takes_no_time() -> None:
    lines = ["program p", "vertex a: int = 0", "repeat 3 times:"]
    for i in range(800):
        lines += [f"  # {i}", f"  apply a = {i}"]
    assert formatted("\n".join(lines)).count("#") == 800


# ---------------------------------------------------------------------- the command


def test_the_command_writes(vlang: Call, tmp_path: Path) -> None:
    path = tmp_path / "p.vp"
    path.write_bytes("\ufeffprogram p\r\nvertex x:int=0\r\n".encode())
    path.chmod(0o640)
    link = tmp_path / "link.vp"
    link.symlink_to(path)
    done = vlang("fmt", link)
    assert (done.status, done.out, done.err) == (0, f"{link}: formatted\n", "")
    assert path.read_bytes() == b"program p\nvertex x: int = 0\n"
    assert link.is_symlink()
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert vlang("fmt", path) == (0, "", "")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["link.vp", "p.vp"]


def test_the_command_checks_and_shows(vlang: Call, tmp_path: Path) -> None:
    path, good = tmp_path / "p.vp", tmp_path / "good.vp"
    path.write_text("program p\nvertex x:int=0")
    good.write_text("program p\n")
    assert vlang("fmt", "--check", path, good) == (1, f"{path}: would be formatted\n", "")
    assert vlang("fmt", "--check", good) == (0, "", "")
    done = vlang("fmt", "--diff", path, good)
    assert done.status == 0
    assert done.out == (f"--- {path}\n+++ {path} (formatted)\n@@ -1,2 +1,2 @@\n program p\n-vertex x:int=0\n"
                        "\\ No newline at end of file\n+vertex x: int = 0\n")  # fmt: skip
    assert vlang("fmt", "--check", "--diff", path).status == 1
    assert path.read_text() == "program p\nvertex x:int=0"


def test_a_file_with_errors_of_syntax_is_left_alone(vlang: Call, tmp_path: Path) -> None:
    bad, path, none = tmp_path / "bad.vp", tmp_path / "p.vp", tmp_path / "none.vp"
    bad.write_text("program p\nrepeat\n    apply x =\n")
    path.write_text("program p\nvertex x:int=y\n")
    done = vlang("fmt", bad, none, path)
    assert (done.status, done.out) == (1, f"{path}: formatted\n")
    assert done.err.count("error[V001]") == 2
    assert done.err == vlang("check", bad).err + f"error: {none} cannot be read: no such file or directory\n"
    assert bad.read_text() == "program p\nrepeat\n    apply x =\n"
    assert path.read_text() == "program p\nvertex x: int = y\n"


def test_a_stream(vlang: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    def given(data: bytes) -> None:
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(data)))

    given(b"program p\nvertex x:int=0")
    assert vlang("fmt", "-") == (0, "program p\nvertex x: int = 0\n", "")
    given(b"program p\nvertex x:int=0")
    assert vlang("fmt", "-", "--check") == (1, "-: would be formatted\n", "")
    given(b"program \xff")
    assert vlang("fmt", "-") == (1, "", "error: -: not a program: the file is not UTF-8 text (byte 9)\n")

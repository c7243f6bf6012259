"""The table of options, and how a call accepts options if a program has parameters with the same names."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import fields
from typing import Any

import numpy as np
import pytest

import vlang
from vlang.api.arguments.bind_options import read_option
from vlang.api.arguments.option_values import option_choices
from vlang.options import EVERYDAY, OPTIONS, RENAMED, RESEARCH, Option, Options


@pytest.fixture(scope="module")
def karate() -> vlang.Graph:
    return vlang.Graph.read("karate")


def test_the_table_is_the_dataclass() -> None:
    assert list(OPTIONS) == [spec.name for spec in fields(Options)] == [*EVERYDAY, *RESEARCH]
    assert all(getattr(Options(), name) == option.default for name, option in OPTIONS.items())
    assert not set(RENAMED) & set(OPTIONS)
    assert set(RENAMED.values()) <= set(OPTIONS)


@pytest.mark.parametrize("option", OPTIONS.values(), ids=lambda option: option.name)
def test_every_option_describes_itself_and_its_values(option: Option) -> None:
    assert option.help.endswith(".")
    assert option.devices in ("cpu", "gpu", "both")
    assert option.values or option.kind == "flag"
    for text in option_choices(option):  # every completion is accepted
        value: Any = {"true": True, "false": False}[text] if option.kind == "flag" else text
        read_option(option.name, int(text) if option.name == "precision" else value)


class Elsewhere(Mapping[str, Any]):
    """A mapping that is not a dict."""

    def __getitem__(self, name: str) -> Any:
        return {"max_rounds": 2}[name]

    def __iter__(self) -> Iterator[str]:
        return iter(["max_rounds"])

    def __len__(self) -> int:
        return 1


@pytest.mark.parametrize("options", [
    {"max_rounds": 2, "mode": "pull"}, vlang.Options(max_rounds=2, mode="pull"), {"max_rounds": np.int64(2)},
    Elsewhere(),
], ids=lambda options: type(options).__name__)
def test_options_all_at_once(karate: vlang.Graph, options: Any) -> None:
    pagerank = vlang.load("pagerank")
    for result in (pagerank(karate, options), pagerank(karate, options=options)):
        assert result.rounds == 2
    assert pagerank(karate, options, max_rounds=3).rounds == 3, "a keyword replaces what options says"
    assert "is for runs on a GPU" in refused(pagerank, karate, options, research={"kernel": "edge"})


def refused(program: vlang.Program, graph: vlang.Graph, *options: Any, **given: Any) -> str:
    """Return the error message of a call that must fail."""
    with pytest.raises((vlang.BindError, vlang.GraphError)) as caught:
        program(graph, *options, **given)
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize(("given", "message"), [
    ({"mode": "pull"}, "mode is a research option: write research={\"mode\": 'pull'}"),
    ({"order": "rounds"}, "order is a research option: write research={\"schedule\": 'rounds'}"),
    ({"research": {"order": "rounds"}}, "research: order is called schedule now"),
    ({"research": {"threads": 2}}, "threads is no research option: write threads=2 outside of research"),
    ({"research": {"kernal": "edge"}}, "research: there is no option 'kernal'; did you mean 'kernel'?"),
    ({"research": "mode=pull"}, "research is a dict of names and values, such as {\"mode\": \"pull\"}, not"),
    ({"options": 3}, "options is vlang.Options or a dict of names and values"),
    ({"options": {"order": "rounds"}}, "options: order is called schedule now"),
    ({"options": {"device": "gpu", "blocking": "always"}}, "blocking is for runs on the CPU; leave out the device"),
])
def test_what_is_written_at_the_wrong_place(karate: vlang.Graph, given: dict[str, Any], message: str) -> None:
    assert refused(vlang.load("bfs"), karate, source=1, **given).startswith(message)


def test_research_options_reach_the_run(karate: vlang.Graph) -> None:
    bfs = vlang.load("bfs")
    assert {row.mode for row in bfs(karate, source=1, research={"mode": "pull"}).history} == {"pull"}
    assert "given twice: by position" in refused(bfs, karate, {"threads": 1}, source=1, options={"threads": 2})


# ------------------------------------------------------------------------------ parameters with the names of options
OWN = vlang.compile("""program own(threads: vertex, device = 0.5, kernel: int = 1)
vertex mode: float = device if self == threads else 0
vertex steps: int = kernel
repeat 3 times:
    apply steps = steps + 1
""")
EVERY_NAME = vlang.compile("program p(options = 1, research = 2, graph = 3)\n"
                           "vertex x: int = options + research + graph\nrepeat 4 times:\n    apply x = x + 1\n")


def test_a_parameter_wins(karate: vlang.Graph) -> None:
    result = OWN(karate, threads=2, device=0.25, kernel=7)
    assert (result["mode"][1], result["steps"][0]) == (0.25, 10)
    result = OWN(karate, {"threads": 1, "mode": "pull", "device": "cpu"}, threads=2, max_rounds=1)
    assert (result.rounds, result["mode"][1], {row.mode for row in result.history}) == (1, 0.5, {"pull"})
    given = np.linspace(0, 1, karate.n, dtype=np.float32)
    assert np.array_equal(OWN(karate, threads=2, mode=given)["mode"], given)


@pytest.mark.parametrize("name", [*OPTIONS, "options", "research", "verify", "graph"])
def test_every_name_may_be_a_parameter_and_a_field(karate: vlang.Graph, name: str) -> None:
    taken = vlang.compile(f"program p({name} = 2)\nvertex x: int = {name}\n")
    assert taken(karate, {"threads": 1}, **{name: 5})["x"][0] == 5
    field = vlang.compile(f"program p\nvertex {name}: int = 3\n")
    assert field(karate, {"threads": 1}, **{name: np.arange(karate.n)})[name][4] == 4
    assert taken.lower(options={"precision": 64}).options.precision == 64


@pytest.mark.parametrize(("given", "message"), [
    ({"threads": 2, "device": "gpu"},
     "`device` is a number (f32), not 'gpu'. `device` is a parameter of own; for run options write "
     "options={\"device\": ...}"),
    ({"threads": 99}, "vertex 99 is not in the graph; its ids are integers from 1 to 34. `threads` is a parameter"),
    ({"threads": 2, "mode": "pull"}, "34 values, one a vertex, not of shape (). `mode` is a field of own; for "
                                     "run options write options={\"mode\": ...}"),
    ({"threads": 2, "kernel": "edge"}, "for run options write options={\"kernel\": ...}"),
])
def test_a_value_that_is_for_the_option_says_where_it_goes(
    karate: vlang.Graph, given: dict[str, Any], message: str
) -> None:
    assert message in refused(OWN, karate, **given)


def test_a_parameter_called_options(karate: vlang.Graph) -> None:
    """If a program has a parameter `options`, this keyword sets the parameter. The run options are then a positional
    argument.
    """
    assert EVERY_NAME(karate, options=10)["x"][0] == 19
    result = EVERY_NAME(karate, vlang.Options(max_rounds=1, mode="pull"), options=10, research=20, graph=30)
    assert (result["x"][0], result.rounds) == (61, 1)
    assert refused(EVERY_NAME, karate, options={"threads": 2}).endswith(
        "`options` is a parameter of p; for run options write vlang.Options(...) after the graph")


def test_help_says_which_names_are_taken() -> None:
    (line,) = [line for line in str(OWN.__doc__).splitlines() if "keyword" in line]
    assert line == ("`threads`, `device`: as keywords these are the program's own; run options of these names are "
                    "given in options={...}")
    assert "p(graph, vlang.Options(...), ...)" in str(EVERY_NAME.__doc__)
    assert "keyword" not in str(vlang.load("bfs").__doc__)

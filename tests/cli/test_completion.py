"""Shell completion: commands, options of the table, and their values."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from vlang.options import EVERYDAY, RESEARCH


def offered(*words: str) -> set[str]:
    """Return the completions that the shell offers for the last word of a command line."""
    environment = {**os.environ, "_VLANG_COMPLETE": "bash_complete", "COMP_WORDS": " ".join(("vlang", *words)),
                   "COMP_CWORD": str(len(words))}
    done = subprocess.run([sys.executable, "-m", "vlang"], env=environment, capture_output=True, text=True)
    assert done.stderr == ""
    return {line.partition(",")[2] for line in done.stdout.splitlines()}


@pytest.mark.parametrize(("words", "found"), [
    (["e"], {"explain"}),
    (["run", "bfs", "karate", "--device", "g"], {"gpu"}),
    (["run", "bfs", "karate", "--precision", ""], {"32", "64"}),
    (["run", "bfs", "karate", "--research", "s"], {"switching=", "schedule=", "strategy=", "streams="}),
    (["run", "bfs", "karate", "--research", "mode=pu"], {"mode=pull", "mode=push"}),
    (["explain", "bfs", "--research", "wi"], {"without="}),
    (["explain", "bfs", "--research", "without=ho"], {"without=hoist"}),
])
def test_completion(words: list[str], found: set[str]) -> None:
    assert offered(*words) == found


def test_every_option_is_offered() -> None:
    assert offered("run", "bfs", "karate", "--") >= {option.flag for option in EVERYDAY.values() if option.command}
    assert offered("run", "bfs", "karate", "--research", "") == {f"{name}=" for name in RESEARCH}


def test_the_script_for_a_shell() -> None:
    done = subprocess.run([sys.executable, "-m", "vlang"], env={**os.environ, "_VLANG_COMPLETE": "zsh_source"},
                          capture_output=True, text=True)
    assert "#compdef vlang" in done.stdout

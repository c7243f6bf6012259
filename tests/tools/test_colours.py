"""Syntax colours of editors: one table has every word of the grammar once, and generated grammars are up to date."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import tomllib
from importlib import import_module
from itertools import combinations
from pathlib import Path

import pytest

from vlang.check.calls import FUNCTIONS, SPECIAL
from vlang.editor import classes
from vlang.editor.textmate import grammar_text
from vlang.reductions import REDUCTIONS
from vlang.syntax.keywords import PREDEFINED, TYPE_NAMES, WORDS
from vlang.syntax.lark_tree import grammar

ROOT = Path(__file__).resolve().parents[2]
VSCODE = ROOT / "editors" / "vscode"
TERMINALS = {t.name: t.pattern.value for t in grammar().terminals}
GRAMMAR_WORDS = sorted(word for v in TERMINALS.values() if (word := v.partition("(?=")[0]).isalpha())


def test_no_word_is_listed_twice() -> None:
    for one, other in combinations(classes.WORDS, 2):
        assert not one.words & other.words, (one.token, other.token)


def test_the_words_are_those_of_the_grammar() -> None:
    assert frozenset(GRAMMAR_WORDS) | TYPE_NAMES == WORDS
    assert all(re.fullmatch(TERMINALS["TYPE"], name) for name in TYPE_NAMES)
    assert TERMINALS["NUMBER"] == classes.NUMBER
    assert TERMINALS["NAME"] == classes.NAME


@pytest.mark.parametrize("word", sorted(WORDS | PREDEFINED))
def test_every_word_is_coloured_by_pygments(word: str) -> None:
    token_type = pytest.importorskip("pygments.token")
    from vlang.editor.pygments_lexer import VlangLexer

    ((kind, text), *_) = VlangLexer().get_tokens(word)
    assert text == word
    assert kind is not token_type.Name
    assert kind is not token_type.Error


@pytest.mark.parametrize("name", sorted({*FUNCTIONS, *SPECIAL, *REDUCTIONS} - TYPE_NAMES))
def test_functions_are_coloured_where_they_are_called(name: str) -> None:
    token_type = pytest.importorskip("pygments.token")
    from vlang.editor.pygments_lexer import VlangLexer

    assert (token_type.Name.Builtin, name) in VlangLexer().get_tokens(f"{name} (x)")
    assert (token_type.Name, name) in VlangLexer().get_tokens(f"apply {name} = x")


@pytest.mark.parametrize("folder", ["stdlib", "tests/reference/design", "examples"])
def test_pygments_knows_every_character_of_the_programs(folder: str) -> None:
    token_type = pytest.importorskip("pygments.token")
    from vlang.editor.pygments_lexer import VlangLexer

    for path in sorted((ROOT / folder).glob("*.vp")):
        text = path.read_text()
        tokens = list(VlangLexer(stripnl=False, ensurenl=False).get_tokens(text))
        assert "".join(part for _, part in tokens) == text
        assert not [part for kind, part in tokens if kind is token_type.Error], path.name


def test_operators_are_whole_tokens() -> None:
    for value in ("->", "--", "**", "//", "==", "!=", "<=", ">=", "<<", ">>", "+=", "^=", "%", "~"):
        assert bool(re.fullmatch(classes.OPERATOR, value)) == (value != "~")
        match = re.match(classes.OPERATOR, value)
        assert (match[0] if match else None) == (value if value != "~" else None)


def test_the_entry_point_leads_to_the_lexer() -> None:
    pytest.importorskip("pygments")
    entries = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["entry-points"]["pygments.lexers"]
    module, _, name = entries["vp"].partition(":")
    lexer = getattr(import_module(module), name)
    assert "vp" in lexer.aliases
    assert lexer.filenames == ["*.vp"]


def test_the_textmate_grammar_is_up_to_date() -> None:
    name = "syntaxes/vlang.tmLanguage.json"
    command = f"python -m vlang.editor.textmate editors/vscode/{name}"
    assert (VSCODE / name).read_text() == grammar_text(), f"write it with: {command}"


@pytest.mark.parametrize("word", GRAMMAR_WORDS)
def test_every_word_is_coloured_by_the_textmate_grammar(word: str) -> None:
    for pattern in json.loads(grammar_text())["patterns"]:  # the first pattern that matches decides
        if re.match(pattern["match"], word):
            assert pattern["name"] not in ("variable.other.vp", "keyword.operator.vp")
            return
    pytest.fail(f"no colour for {word}")


def test_the_extension_names_files_that_are_there() -> None:
    contributes = json.loads((VSCODE / "package.json").read_text())["contributes"]
    assert (VSCODE / contributes["languages"][0]["configuration"]).is_file()
    grammar_of = contributes["grammars"][0]
    assert json.loads((VSCODE / grammar_of["path"]).read_text())["scopeName"] == grammar_of["scopeName"]
    json.loads((VSCODE / "language-configuration.json").read_text())


def test_the_extension_starts_the_language_server() -> None:
    node = shutil.which("node")
    if node is None:
        pytest.skip("Node.js is not installed: the extension is not run")
    package = json.loads((VSCODE / "package.json").read_text())
    default = package["contributes"]["configuration"]["properties"]["vlang.command"]["default"]
    script = f"""
        const said = [], load = require("module")._load;
        require("module")._load = (name, ...rest) => ({{
            "vscode": {{ workspace: {{ getConfiguration: () => ({{ get: () => {json.dumps(default)} }}) }},
                         window: {{ showErrorMessage: text => said.push(text) }} }},
            "vscode-languageclient/node": {{ LanguageClient: class {{
                constructor(id, name, server, options) {{ said.push(server, options.documentSelector); }}
                start() {{ return Promise.reject(new Error("no such file")); }} }} }},
        }})[name] ?? load(name, ...rest);
        require({json.dumps(str(VSCODE / package["main"]))}).activate().then(() => console.log(JSON.stringify(said)));
    """
    run = subprocess.run([node, "-e", script], capture_output=True, text=True, check=True)
    server, selector, message = json.loads(run.stdout)
    assert server == {"command": "vlang", "args": ["lsp"]}
    assert selector == [{"language": "vp"}]
    assert "no such file" in message
    assert "pip install 'vlang[lsp]'" in message

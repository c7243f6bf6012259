"""`vlang lsp` end to end: a client uses its standard input and output."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlparse

import pytest

from tests.cli.conftest import Call, vlang

__all__ = ["vlang"]

URI = "file:///nowhere/p.vp"
WRONG = "program p  # \U0001f600\nvertex x: float = y\nrepeat 3 times:\n    apply x = v.x\n    x = 1\n"


class Client:
    """A client of the language server, which runs in another process."""

    def __init__(self) -> None:
        self.process = subprocess.Popen([sys.executable, "-m", "vlang", "lsp"], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE)  # fmt: skip
        self.number = 0

    def send(self, method: str, params: Any, number: int | None = None) -> None:
        message = {"jsonrpc": "2.0", "method": method, "params": params} | ({} if number is None else {"id": number})
        body = json.dumps(message).encode()
        assert self.process.stdin is not None
        self.process.stdin.write(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
        self.process.stdin.flush()

    def receive(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        length = 0
        while line := self.process.stdout.readline().strip():
            name, _, value = line.partition(b":")
            length = int(value) if name.lower() == b"content-length" else length
        assert length, "the server went away"
        message: dict[str, Any] = json.loads(self.process.stdout.read(length))
        return message

    def ask(self, method: str, params: Any) -> Any:
        self.number += 1
        self.send(method, params, self.number)
        while (answer := self.receive()).get("id") != self.number:
            pass
        assert "error" not in answer, answer
        return answer["result"]

    def received(self, method: str) -> Any:
        while (message := self.receive()).get("method") != method:
            pass
        return message["params"]


@pytest.fixture
def client() -> Iterator[Client]:
    pytest.importorskip("pygls.lsp.server", reason="the extra `lsp` is not installed")
    client = Client()
    yield client
    if client.process.poll() is None:
        client.process.kill()
        client.process.communicate()


def position(line: int, character: int) -> dict[str, int]:
    return {"line": line, "character": character}


def test_a_conversation(client: Client) -> None:
    able = client.ask("initialize", {"processId": None, "rootUri": None, "capabilities": {}})["capabilities"]
    assert able["hoverProvider"]
    assert able["completionProvider"]["triggerCharacters"] == ["."]
    client.send("initialized", {})
    document = {"uri": URI}
    client.send("textDocument/didOpen", {"textDocument": document | {"languageId": "vp", "version": 1, "text": WRONG}})
    published = client.received("textDocument/publishDiagnostics")
    found = published["diagnostics"]
    assert [d["code"] for d in found] == ["V101", "V101", "V117"]
    assert found[2]["range"] == {"start": position(4, 4), "end": position(4, 9)}
    assert found[2]["message"].endswith("write: apply x = 1")
    assert Path(urlparse(found[2]["codeDescription"]["href"]).path).read_text().startswith("# V117")

    shown = client.ask("textDocument/hover", {"textDocument": document, "position": position(1, 7)})
    assert shown["contents"]["value"].startswith("`x: f32`: a vertex field, one value per vertex")
    assert shown["range"] == {"start": position(1, 7), "end": position(1, 8)}
    items = client.ask("textDocument/completion", {"textDocument": document, "position": position(3, 16)})
    assert [i["label"] for i in items] == ["x", "degree", "indegree", "outdegree"]

    (action,) = client.ask("textDocument/codeAction", {"textDocument": document, "context": {"diagnostics": []},
                                                       "range": found[2]["range"]})  # fmt: skip
    (edit,) = action["edit"]["changes"][URI]
    assert (action["title"], edit["newText"]) == ("write: apply x = 1", "apply x = 1")
    assert edit["range"] == found[2]["range"]

    right = "program p\nvertex x:float=0\n"
    client.send("textDocument/didChange", {"textDocument": document | {"version": 2},
                                           "contentChanges": [{"text": right}]})  # fmt: skip
    assert client.received("textDocument/publishDiagnostics") == {"uri": URI, "version": 2, "diagnostics": []}
    (edit,) = client.ask("textDocument/formatting", {"textDocument": document, "options": {"tabSize": 4,
                                                                                           "insertSpaces": True}})
    assert edit["newText"] == "program p\nvertex x: float = 0\n"
    (place,) = [client.ask("textDocument/definition", {"textDocument": document, "position": position(1, 7)})]
    assert place == {"uri": URI, "range": {"start": position(1, 7), "end": position(1, 8)}}
    about = {"textDocument": document, "position": position(1, 7)}
    assert client.ask("textDocument/references", about | {"context": {"includeDeclaration": True}}) == [place]
    (edit,) = client.ask("textDocument/rename", about | {"newName": "y"})["changes"][URI]
    assert (edit["newText"], edit["range"]) == ("y", place["range"])
    (symbol,) = client.ask("textDocument/documentSymbol", {"textDocument": document})
    assert (symbol["name"], symbol["detail"]) == ("x", "f32")
    assert client.ask("textDocument/semanticTokens/full", {"textDocument": document})["data"] == [1, 7, 1, 1, 1]
    assert client.ask("textDocument/signatureHelp", about) is None
    client.send("textDocument/didClose", {"textDocument": document})
    assert client.received("textDocument/publishDiagnostics")["diagnostics"] == []
    assert client.ask("shutdown", None) is None
    client.send("exit", None)
    _, err = client.process.communicate(timeout=120)
    assert (client.process.returncode, b"Traceback" in err) == (0, False)


def test_without_pygls_the_command_says_what_to_install(vlang: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "vlang.editor.server", None)
    monkeypatch.setitem(sys.modules, "pygls", None)
    monkeypatch.setitem(sys.modules, "lsprotocol", None)
    monkeypatch.delitem(sys.modules, "vlang.editor.server")
    done = vlang("lsp")
    assert (done.status, done.err) == (1, "error: the language server needs pygls 2: pip install 'vlang[lsp]'\n")

"""Graphs at URLs: files of fsspec in memory, a local server with TLS, and the URLs that are refused."""

from __future__ import annotations

import io
import os
import ssl
import subprocess
import sys
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import fsspec
import numpy as np
import pandas as pd
import pytest

import vlang
from vlang.runtime.storage.inputs import remote

FILES = {"/parts/a.csv": b"source,target,weight\n1,2,3\n2,3,4\n",
         "/parts/b.csv": b"source,target,weight\n3,4,3\n4,1,4\n",
         "/parts/_SUCCESS": b"", "/people.csv": b"id,mass\n1,2\n2,3\n3,1\n4,0\n"}


@pytest.fixture(scope="module", autouse=True)
def files() -> None:
    memory = fsspec.filesystem("memory")
    for name, text in FILES.items():
        memory.pipe(name, text)
    table = io.BytesIO()
    pd.DataFrame({"source": [1, 2], "target": [2, 3], "weight": [1.5, 2]}).to_parquet(table)
    memory.pipe("/table/x.parquet", table.getvalue())


@pytest.mark.parametrize(("url", "n", "m"), [
    ("memory://parts/a.csv", 3, 2), ("memory://parts", 4, 4), ("memory://parts/*.csv", 4, 4),
    ("memory://table/x.parquet", 3, 2), ("memory://table/*.parquet", 3, 2),
])  # fmt: skip
def test_files_folders_and_globs(url: str, n: int, m: int) -> None:
    graph = vlang.Graph.read(url)
    assert (graph.n, graph.m) == (n, m)


def test_a_local_file_may_be_a_url(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes(FILES["/parts/a.csv"])
    assert vlang.Graph.read(f"file://{tmp_path}/a.csv").m == 2


def test_columns_of_remote_vertices() -> None:
    graph = vlang.Graph.read("memory://parts", vertices="memory://people.csv")
    assert graph.vertex_columns is not None
    values, _ = graph.vertex_columns.joined("mass", graph.ids)
    np.testing.assert_array_equal(values, [2, 3, 1, 0])


def test_a_remote_text_is_converted(tmp_path: Path) -> None:
    from vlang.runtime.convert.convert import convert

    convert("memory://parts", tmp_path / "x.vg")
    assert vlang.Graph.read(tmp_path / "x.vg").m == 4


def test_errors_name_the_url() -> None:
    memory = fsspec.filesystem("memory")
    memory.pipe("/wrong/a.csv", FILES["/parts/a.csv"])
    memory.pipe("/wrong/b.csv", b"source,target,weight\n3,4,3\n4,x,\n")
    with pytest.raises(vlang.Error, match=r"^memory://wrong/b.csv"):
        vlang.Graph.read("memory://wrong")


@pytest.mark.parametrize(("url", "message"), [
    ("memory://none.csv", "there is no such file"), ("memory://none/*.csv", "there is no such file or folder"),
    ("memory://parts/x*.csv", "there are no files"),
    ("zip://a.csv::memory://parts/a.zip", "chained"), ("simplecache::memory://parts/a.csv", "chained"),
    ("http://host/a.csv", "write https://host/a.csv"), ("reference://a", "only; copy the file here"),
    ("s3://bucket/a.csv", "pip install s3fs"),
])  # fmt: skip
def test_refused_urls(url: str, message: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "s3fs", None)
    with pytest.raises(vlang.DiskError, match=message):
        vlang.Graph.read(url)


def test_a_refusal_is_no_missing_file(monkeypatch: pytest.MonkeyPatch) -> None:
    """If a server refuses access, the message says so, although `glob` of fsspec hides the refusal. A missing file is
    reported as missing, although gcsfs replaces the error.
    """
    def refused(*_: object) -> None:
        raise OSError("Forbidden: b/parts\nAnonymous caller does not have storage.objects.list access")

    def unremovable(*_: object, **__: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    memory = type(fsspec.filesystem("memory"))
    monkeypatch.setattr(memory, "get_file", unremovable)
    with pytest.raises(vlang.DiskError, match="there is no such file or folder"):
        vlang.Graph.read("memory://none.csv")
    monkeypatch.setattr(memory, "ls", refused)
    monkeypatch.setattr(memory, "info", refused)
    for url in ("memory://parts/a.csv", "memory://parts/x*.csv"):
        with pytest.raises(vlang.DiskError, match=r"Forbidden.*; either there is no such file, or access needs"):
            vlang.Graph.read(url)


def test_an_old_or_missing_fsspec_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fsspec, "__version__", "2026.5.9")
    with pytest.raises(vlang.DiskError, match=r"2026\.6\.0 or newer"):
        vlang.Graph.read("memory://parts")
    monkeypatch.setitem(sys.modules, "fsspec", None)
    with pytest.raises(vlang.DiskError, match="pip install 'vlang"):
        vlang.Graph.read("memory://parts")


def test_a_copy_lives_as_long_as_its_path() -> None:
    path = remote.fetched("memory://parts")
    folder = os.fspath(path)
    assert len(os.listdir(folder)) == 2
    part = path.parts_of_copy[0]
    del path
    assert part.read_bytes() == FILES["/parts/a.csv"]
    del part
    assert not os.path.exists(folder)


def test_a_server_with_tls(tmp_path: Path) -> None:
    pytest.importorskip("aiohttp", reason="aiohttp is not installed: https is not tried")
    subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost",
                    "-addext", "subjectAltName=DNS:localhost", "-keyout", tmp_path / "key", "-out", tmp_path / "cert"],
                   check=True, capture_output=True)  # fmt: skip
    (tmp_path / "a.csv").write_bytes(FILES["/parts/a.csv"])
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(SimpleHTTPRequestHandler, directory=str(tmp_path)))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tmp_path / "cert", tmp_path / "key")
    server.socket = context.wrap_socket(server.socket, server_side=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        url = f"https://localhost:{server.server_address[1]}"
        script = f"import vlang; print(vlang.Graph.read('{url}/a.csv').m); vlang.Graph.read('{url}/none.csv')"
        run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False,
                             env={**os.environ, "SSL_CERT_FILE": str(tmp_path / "cert")})  # fmt: skip
        assert run.stdout == "2\n", run.stderr
        assert run.stderr.splitlines()[-1].endswith(f"{url}/none.csv: there is no such file or folder")
    finally:
        server.shutdown()
        server.server_close()

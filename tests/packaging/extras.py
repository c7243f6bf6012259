"""Check what each extra promises, in a new environment with only this extra:
`python -m tests.packaging.extras [EXTRA ...]`.

The packages come from the package index that pip uses, so that `make nightly` runs this script, but ordinary tests do
not. Every extra of pyproject.toml has a row here; "" is vlang without extras. The script only installs and imports the
extras for GPUs, because it must also run on machines without a GPU. The script prints a line for each extra, and ends
with status 1 if an extra does not keep its promise.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Sequence
from pathlib import Path

from vlang.records import dataclass

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Promise:
    """What an extra adds.

    Attributes:
        code: Python text that fails unless the extra keeps its promise; it runs in a folder with `edges.csv`.
        needs: other packages that the text uses.
    """

    code: str
    needs: tuple[str, ...] = ()


_SAID = """
import subprocess, sys
def said(*words, status=0):
    done = subprocess.run([sys.executable, "-m", "vlang", *words], capture_output=True, text=True)
    assert done.returncode == status, done.stdout + done.stderr
    return done.stdout + done.stderr
"""

_SERVER = """
import json, subprocess, sys
server = subprocess.Popen([sys.executable, "-m", "vlang", "lsp"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
asked = {"jsonrpc": "2.0", "id": 1, "method": "initialize",
         "params": {"processId": None, "rootUri": None, "capabilities": {}}}
body = json.dumps(asked).encode()
server.stdin.write(b"Content-Length: %d\\r\\n\\r\\n" % len(body) + body)
server.stdin.flush()
size = int(server.stdout.readline().split(b":")[1])
while server.stdout.readline().strip():
    pass
can = json.loads(server.stdout.read(size))["result"]["capabilities"]
server.kill()
assert can["renameProvider"] and can["hoverProvider"], can
"""

_LAW = """
import vlang
text = (\"\"\"program p
vertex x: float = 1
reduction r(a, b): float = max(a, b) + min(a, b), identity 0
repeat 1 times:
    gather t = r(u.x for u -> self)
    apply  x = t
\"\"\")
from vlang.check.laws.symbolic import installed
assert installed()
assert vlang.compile(text)(vlang.Graph.read("karate")).rounds == 1
"""

PROMISES = {
    "": Promise(_SAID + """
assert "karate" in said("run", "pagerank", "karate", "--top", "1")
open("edges.parquet", "wb").write(b"PAR1")
assert "vlang[arrow]" in said("run", "degree", "edges.parquet", status=1)
assert "vlang[plot]" in said("run", "pagerank", "karate", "--plot", "ranks.png", status=1)
"""),
    "arrow": Promise("""
import pyarrow, pyarrow.csv, pyarrow.parquet, vlang
pyarrow.parquet.write_table(pyarrow.csv.read_csv("edges.csv"), "edges.parquet")
result = vlang.load("sssp")(vlang.Graph.read("edges.parquet"), source="a")
assert result.to_arrow().column("dist").to_pylist() == [0, 2, 5]
assert vlang.Graph.from_edges(pyarrow.csv.read_csv("edges.csv")).m == 2
import duckdb, pandas, polars
edges = duckdb.sql("select * from 'edges.csv'")
graphs = [vlang.Graph.from_edges(one) for one in (edges, edges, edges.df(), edges.pl())]
assert [vlang.load("sssp")(graph, source="a").dist.tolist() for graph in graphs] == [[0, 2, 5]] * 4
try:
    vlang.Graph.from_edges(edges, source="x")
    raise SystemExit("a column that is not there")
except vlang.GraphError as kept:
    assert duckdb.sql("select max(dist) from result").fetchall() == [(5,)], kept
assert result.to_polars().shape == result.to_pandas().shape == (3, 2)
""", ("duckdb", "pandas", "polars")),
    "io": Promise("""
import fsspec, vlang
fsspec.filesystem("memory").pipe("/edges.csv", open("edges.csv", "rb").read())
assert vlang.Graph.read("memory://edges.csv").m == 2
"""),
    "plot": Promise(_SAID + """
for name in ("ranks.png", "ranks.svg"):
    said("run", "pagerank", "karate", "--plot", name)
assert open("ranks.png", "rb").read(4) == b"\\x89PNG" and "<svg" in open("ranks.svg").read()
"""),
    "cluster": Promise(_SAID + 'assert "pagerank" in said("run", "pagerank", "karate", "--cluster", "2", "--json")'),
    "ray": Promise(_SAID + 'assert "pagerank" in said("run", "pagerank", "karate", "--cluster", "ray:2", "--json")'),
    "nx": Promise("""
import networkx
club = networkx.karate_club_graph()
ranks, plain = networkx.pagerank(club, backend="vlang"), networkx.degree_centrality(club)
assert len(ranks) == len(plain) == 34 and max(ranks, key=ranks.get) == 33
"""),
    "lsp": Promise(_SERVER),
    "docs": Promise(f"""
import subprocess, sys
done = subprocess.run([sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--config-file",
                       {str(ROOT / "mkdocs.yml")!r}, "--site-dir", "site"], capture_output=True, text=True)
assert done.returncode == 0, done.stdout + done.stderr
"""),
    "smt": Promise(_LAW),
    "gpu": Promise("import cupy, vlang"),
    "gpu12": Promise("import cupy, vlang"),
    "dev": Promise("import hypothesis, mypy, pytest, vlang"),
}


def _quietly(command: Sequence[str | Path], folder: Path) -> str:
    """Run a command. Return "" if the command succeeds, and otherwise the end of its output."""
    env = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "PYTHONHOME")}
    try:
        done = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, check=False, timeout=1500)
    except subprocess.TimeoutExpired:
        return "took more than 25 minutes"
    return "" if done.returncode == 0 else (done.stdout + done.stderr)[-1500:]


def _problem(extra: str, wheel: Path, folder: Path) -> str:
    """Return the reason why an extra does not keep its promise in a new environment; "" if it does."""
    promise, python = PROMISES[extra], folder / "venv" / "bin" / "python"
    (folder / "edges.csv").write_text("source,target,weight\\na,b,2\\nb,c,3\\n".replace("\\n", "\n"))
    wanted = f"vlang[{extra}] @ {wheel.as_uri()}" if extra else str(wheel)
    commands: tuple[tuple[str | Path, ...], ...] = (
        (sys.executable, "-m", "venv", folder / "venv"),
        (python, "-m", "pip", "install", "--quiet", wanted, *promise.needs),
        (python, "-c", promise.code),
    )
    for command in commands:
        if found := _quietly(command, folder):
            return f"{command[1:4]}: {found}"
    return ""


def main(chosen: Sequence[str]) -> int:
    """Try extras, one after the other; return the exit status."""
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    assert {"", *declared} == set(PROMISES), "every extra of pyproject.toml needs a row in PROMISES, and no other"
    kept = True
    with tempfile.TemporaryDirectory() as built:
        if found := _quietly((sys.executable, "-m", "build", "--wheel", "--outdir", built, ROOT), ROOT):
            sys.exit(found)
        wheel = next(Path(built).glob("*.whl"))
        for extra in chosen or PROMISES:
            folder, begin = Path(tempfile.mkdtemp()), time.monotonic()
            try:
                problem = _problem(extra, wheel, folder)
            finally:
                shutil.rmtree(folder, ignore_errors=True)
            kept &= not problem
            print(f"{extra or '(none)':8} {time.monotonic() - begin:6.0f} s  {problem or 'kept'}", flush=True)
    return 0 if kept else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

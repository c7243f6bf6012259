"""Runs on several processes under mpiexec. The tests are skipped if mpi4py or an MPI library is not installed."""

from __future__ import annotations

import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from tests.sample import EXHAUSTIVE
from vlang import Graph, load
from vlang.cli import main
from vlang.runtime.cluster.job.start import run_job

BESIDE = Path(sys.executable).parent / "mpiexec"
MPIEXEC = str(BESIDE) if BESIDE.exists() else shutil.which("mpiexec")
pytestmark = pytest.mark.skipif(MPIEXEC is None or find_spec("mpi4py") is None,
                                reason="mpi4py and mpiexec are not installed: pip install 'vlang[cluster]'")
ENVIRON = {**os.environ, "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe", "OMPI_ALLOW_RUN_AS_ROOT": "1",
           "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
HANGS = 300  # seconds after which a job hangs, even if other processes use the processors


def vlang(*words: str, limit: float = HANGS) -> subprocess.CompletedProcess[str]:
    """Run a command of vlang."""
    return subprocess.run([sys.executable, "-m", "vlang", *words], capture_output=True, text=True, timeout=limit,
                          stdin=subprocess.DEVNULL, check=False)


def test_command(tmp_path: Path) -> None:
    """Several ranks write the same result as one process.

    Only rank 0 prints, and each rank reads a part of the page file.
    """
    graph, ranks = tmp_path / "g.vg", "2"
    Graph.read("kron:9").save(graph)
    one, several = tmp_path / "one.npz", tmp_path / "several.npz"
    assert vlang("run", "pagerank", str(graph), "-o", str(one)).returncode == 0
    done = vlang("run", "pagerank", str(graph), "-o", str(several), "--cluster", ranks)
    assert done.returncode == 0, done.stderr
    assert done.stderr.count(f"{ranks} ranks, rank 0 prints; each reads the edges of its vertices") == 1
    assert done.stderr.count("wrote ") == 1
    assert done.stderr.count("a rank needs at most ") == 1
    with np.load(one) as want, np.load(several) as found:
        for name in want.files:
            assert np.array_equal(want[name], found[name]), name


def test_a_file_of_each_rank(tmp_path: Path) -> None:
    """Part files have the rows of a complete file in the same order. If a folder already has parts, the run is refused.
    """
    parquet = pytest.importorskip("pyarrow.parquet")
    folder, whole = f"{tmp_path}/ranks/", tmp_path / "whole.parquet"
    assert vlang("run", "pagerank", "kron:9", "-o", str(whole)).returncode == 0
    done = vlang("run", "pagerank", "kron:9", "-o", folder, "--cluster", "3")
    assert done.returncode == 0, done.stderr
    again = vlang("run", "pagerank", "kron:9", "-o", folder)
    assert (again.returncode, again.stderr.count("has part files of another run")) == (2, 1), again.stderr
    parts = sorted(Path(folder).iterdir())
    assert [part.name for part in parts] == [f"part-{rank:05d}.parquet" for rank in range(3)]
    tables = [parquet.read_table(part).to_pydict() for part in parts]
    want = parquet.read_table(whole).to_pydict()
    assert {name: [value for table in tables for value in table[name]] for name in want} == want


def test_json_and_errors(tmp_path: Path) -> None:
    done = vlang("run", "bfs", "kron:8", "source=0", "--cluster", "2", "--json", "-q")
    assert json.loads(done.stdout)["converged"], done.stderr
    for words, status, text in (
        (("run", "lcc", "nothing.txt"), 1, "lcc, line 16: `common`"),  # before the graph is read
        (("run", "pagerank", "nothing.txt"), 1, "nothing.txt: there is no such file"),
        (("run", "pagerank", "karate", "-o", "ranks.xyz"), 2, "unknown format of `ranks.xyz`"),
    ):
        done = vlang(*words, "--cluster", "2")
        assert (done.returncode, done.stderr.count(text)) == (status, 1), done.stderr


def test_standard_input(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One rank of the machine reads the graph from standard input into a page file, which is removed at the end. Ranks
    that are started again could not read it again.
    """
    text = "".join(f"v{k} v{k * k % 37} {k % 5 + 1}\n" for k in range(1, 300))
    words = [sys.executable, "-m", "vlang", "run", "sssp", "-", "source=v1", "--weights", "3", "-o"]
    for number, more in (("0", []), ("1", ["--cluster", "2"])):
        done = subprocess.run([*words, str(tmp_path / f"{number}.csv"), *more], input=text, text=True, timeout=HANGS,
                              capture_output=True, check=False, env={**ENVIRON, "TMPDIR": str(tmp_path)})
        assert done.returncode == 0, done.stderr
    assert (tmp_path / "0.csv").read_text() == (tmp_path / "1.csv").read_text()
    assert "one rank of each machine writes it to a page file first" in done.stderr
    assert not list(tmp_path.glob("vlang-ranks-*"))
    assert main(["run", "pagerank", "-", "--cluster", "2", "--checkpoint", str(tmp_path / "s"), "--restarts", "1"]) == 2
    assert "standard input (-) can be read once; write it to a file" in capsys.readouterr().err



SCRIPT = """
import os, sys, time
from pathlib import Path
import numpy as np
import vlang
import vlang.runtime.cluster.transports.mpi
import vlang.runtime.cluster.transports.watch
watch, absent = vlang.runtime.cluster.transports.watch, vlang.runtime.cluster.transports.watch.absent
vlang.runtime.cluster.transports.mpi.MOST_BYTES, vlang.runtime.cluster.transports.mpi._INSIDE = 100, 64  # more rounds
folder, what = Path(sys.argv[1]), sys.argv[2]
def slow(done):
    rank = os.environ.get("PMI_RANK", os.environ.get("OMPI_COMM_WORLD_RANK"))
    if what == "run":  # rank 0 waits for rank 1 after rank 2 does, and rank 1 comes when rank 0 is about to print
        watch.PATIENCE = 0.2 if done.round == 5 else 60
        if done.round == 5:
            (folder / f"came{rank}").touch()
            while rank != "2" and not (folder / ("came2" if rank == "0" else "said")).exists():
                time.sleep(0.005)
        return
    (folder / f"pid{rank}").write_text(str(os.getpid()))
    time.sleep(0.02)
    if what == "raise" and done.round == 5 and rank == "1":
        raise RuntimeError("the disk is full")
def said(*words):
    (folder / "said").touch()
    return absent(*words)
watch.absent = said
graph = vlang.Graph.read("kron:8")
result = vlang.load("pagerank")(graph, tol=0, max_rounds=None if what == "run" else 100000, cluster="mpi",
                                progress=slow, research={"mode": "pull"})
np.save(folder / f"{os.getpid()}.npy", result["rank"])
"""


def started(folder: Path, what: str, ranks: int) -> subprocess.Popen[str]:
    """Start SCRIPT on several ranks."""
    assert MPIEXEC is not None
    return subprocess.Popen([MPIEXEC, "-n", str(ranks), sys.executable, "-c", SCRIPT, str(folder), what],
                            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=ENVIRON,
                            stdin=subprocess.DEVNULL)


def pids(folder: Path) -> list[int]:
    """Return the ids of the processes that have begun the run."""
    return [int(text) for path in folder.glob("pid*") if (text := path.read_text())]


def assert_ended(folder: Path) -> None:
    """Assert that no process of a rank is left."""
    for pid in pids(folder):
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)


def test_python_under_mpiexec(tmp_path: Path) -> None:
    """Every rank of a script gets the whole result. While rank 1 is late, rank 0 prints which ranks wait."""
    job = started(tmp_path, "run", 3)
    text, _ = job.communicate(timeout=HANGS)
    assert job.returncode == 0, text
    assert re.search(r"^not all ranks have come within 0.2 s: rank 0 waits at '(.*)', rank 2 waits at '\1'; "
                     r"missing: 1, after '.*'$", text, re.MULTILINE), text
    found = [np.load(path) for path in tmp_path.glob("*.npy")]
    want = load("pagerank")(Graph.read("kron:8"), tol=0, research={"mode": "pull"})["rank"]
    assert len(found) == 3
    assert all(np.array_equal(part, np.asarray(want)) for part in found)


def test_a_rank_raises(tmp_path: Path) -> None:
    """If a rank raises an error, the job ends on all ranks and shows the reason."""
    job = started(tmp_path, "raise", 3)
    text, _ = job.communicate(timeout=HANGS)
    assert job.returncode != 0
    assert "rank 1 failed: the disk is full" in text
    assert_ended(tmp_path)


OWN_MISTAKE = """
import sys
import vlang
from vlang.errors import VlangError
from vlang.runtime.cluster.transports.mpi import mpi_ranks
graph, what, me = vlang.Graph.read("karate"), sys.argv[1], mpi_ranks("mpi").rank
for number in range(3):
    try:
        vlang.load("bfs")(graph, source="1" if number or me else "nothing", cluster="mpi")
    except VlangError:
        if number:
            raise
    if number == 1 and me == 1:
        sys.exit(0 if what == "ends" else 1 / 0)
"""


@pytest.mark.parametrize(("what", "text"), [
    ("raises", "rank 1 failed: division by zero"), ("ends", "rank 1 has ended, and this rank waits for it at ")])
def test_a_script_fails_between_runs(what: str, text: str) -> None:
    """If a rank raises an error or ends between two runs, the other rank does not wait for it in the next run.

    Before, an argument of the first run is wrong on rank 0 only. Both ranks get this error, and go on together.
    """
    assert MPIEXEC is not None
    job = subprocess.run([MPIEXEC, "-n", "2", sys.executable, "-c", OWN_MISTAKE, what], env=ENVIRON, timeout=HANGS,
                         stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    assert job.returncode != 0, job.stderr
    assert text in job.stderr


INTERRUPTED = """
import os, signal, time
import numpy as np
from vlang.runtime.cluster.transports import mpi
from vlang.runtime.cluster.transports.mpi import mpi_ranks
mpi._GRACE = mpi._STARTS = 60  # a busy machine may interrupt one rank much later than the other one
ranks = mpi_ranks("mpi")
signal.signal(signal.SIGALRM, signal.default_int_handler)
signal.setitimer(signal.ITIMER_REAL, 0.3 if ranks.rank == 0 else 0.5)
try:
    if ranks.rank == 1:
        time.sleep(60)
    ranks.exchange([np.zeros(0, np.uint8)] * 2, "the step")
except KeyboardInterrupt:
    ranks.abort("interrupted")
    os.write(1, b"ended\\n")  # one write: print() makes two if Python does not buffer, and lines of ranks mix
"""


def test_all_ranks_are_interrupted() -> None:
    """If a signal reaches one rank in an exchange and another one outside, both end, and neither ends the job."""
    assert MPIEXEC is not None
    job = subprocess.run([MPIEXEC, "-n", "2", sys.executable, "-c", INTERRUPTED], env=ENVIRON, timeout=HANGS,
                         stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    assert (job.returncode, job.stdout, job.stderr) == (0, "ended\nended\n", "")
    own = "import os, sys; sys.exit(os.getpgid(0) != os.getpid())"  # a terminal must not send the job another SIGINT
    assert run_job([sys.executable, "-c", own], os.environ, 0, print).status == 0


def test_a_rank_is_killed(tmp_path: Path) -> None:
    """If a rank is killed, the job ends on all ranks within 2 s. On a busy machine, one of three times has to be short.
    """
    times: list[float] = []
    while min(times, default=2.0) >= 2 and len(times) < 3:
        folder = tmp_path / str(len(times))
        folder.mkdir()
        job = started(folder, "kill", 3)
        end = time.monotonic() + HANGS
        while len(pids(folder)) < 3 and time.monotonic() < end and job.poll() is None:
            time.sleep(0.05)
        (victim, *_) = pids(folder)
        begin = time.monotonic()
        os.kill(victim, signal.SIGKILL)
        job.communicate(timeout=HANGS)
        times.append(time.monotonic() - begin)
        assert job.returncode != 0
        assert_ended(folder)
    assert min(times) < 2


def ranks_of(mark: str) -> list[int]:
    """Return the ids of the rank processes whose environment has VLANG_TEST_MARK=mark. Their children, which
    compile kernels, are left out.
    """
    found = {}
    for path in Path("/proc").glob("[0-9]*/environ"):
        try:
            words = path.read_bytes().split(b"\0")
            parent = int((path.parent / "stat").read_text().rpartition(")")[2].split()[1])
        except OSError:
            continue
        if f"VLANG_TEST_MARK={mark}".encode() in words and any(word.startswith((b"PMI_RANK=", b"OMPI_COMM_WORLD_RANK="))
                                                               for word in words):
            found[int(path.parent.name)] = parent
    return [process for process, parent in found.items() if parent not in found]


def ended(mark: str) -> bool:
    """Return whether all ranks with a mark end, within 2 s unless other processes use the processors."""
    end = time.monotonic() + 30
    while ranks_of(mark) and time.monotonic() < end:
        time.sleep(0.02)
    return not ranks_of(mark)


COUNTED = """
program slow(rounds: int)
vertex x: float = 1
repeat rounds times:
    gather s = sum(u.x for u -> self)
    apply x = x + s / (s + x)
"""


def test_restarts_after_kills(tmp_path: Path) -> None:
    """If ranks are killed at random moments, the restarted job has the same result as one process and leaves no orphan
    processes.

    The ranks write checkpoint files after every superstep. Each kill waits until new files have appeared and every rank
    has two files.
    """
    seed, kills = random.randrange(1 << 30), 20 if EXHAUSTIVE else 2
    print(f"seed {seed}")
    draw, mark, folder = random.Random(seed), str(tmp_path), tmp_path / "state"
    (tmp_path / "slow.vp").write_text(COUNTED)
    words = ("run", str(tmp_path / "slow.vp"), "kron:8", f"rounds={200 * kills}")
    assert vlang(*words, "-o", str(tmp_path / "one.npz")).returncode == 0
    job = subprocess.Popen(
        [sys.executable, "-m", "vlang", *words, "-o", str(tmp_path / "ranks.npz"), "--cluster", "2", "--checkpoint",
         str(folder), "--every", "0", "--restarts", str(kills)],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env={**ENVIRON, "VLANG_TEST_MARK": mark})
    for _ in range(kills):
        end, before = time.monotonic() + HANGS, newest(folder)
        while (newest(folder) == before or len(list(folder.glob("rank-*/state.[01]"))) < 4) and \
                time.monotonic() < end and job.poll() is None:
            time.sleep(0.005)
        time.sleep(draw.uniform(0, 0.1))
        victim, *others = draw.sample(both, 2) if len(both := ranks_of(mark)) == 2 else [0]
        if victim and job.poll() is None:
            os.kill(victim, signal.SIGKILL)
            while any(Path(f"/proc/{pid}").exists() for pid in (victim, *others)) and time.monotonic() < end:
                time.sleep(0.005)
    text, _ = job.communicate(timeout=HANGS)
    assert job.returncode == 0, text
    resumed = [int(one.replace(",", "")) for one in re.findall(r"goes on before superstep ([0-9,]+) ", text)]
    assert text.count("goes on before ") >= kills // 2, text  # a busy machine may kill only after the end
    assert resumed == sorted(resumed), text
    assert ended(mark)
    with np.load(tmp_path / "one.npz") as want, np.load(tmp_path / "ranks.npz") as found:
        assert all(np.array_equal(want[name], found[name]) for name in want.files)


def newest(folder: Path) -> int:
    """Return the time in ns at which the newest state file was written; 0 if there is none."""
    return max((path.stat().st_mtime_ns for path in folder.glob("rank-*/state.[01]")), default=0)


@pytest.mark.parametrize("killed", ["vlang", "error"])
def test_no_restart(killed: str, tmp_path: Path) -> None:
    """An error of the program ends the job without a restart. If vlang itself is killed, no process of a rank is left.
    """
    graph = "nothing.txt" if killed == "error" else "kron:8"
    job = subprocess.Popen(
        [sys.executable, "-m", "vlang", "run", "pagerank", graph, "tol=0", "--max-rounds", "100000000", "--cluster",
         "2", "--checkpoint", str(tmp_path / "state"), "--restarts", "3"],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, stdin=subprocess.DEVNULL,
        env={**ENVIRON, "VLANG_TEST_MARK": str(tmp_path)})
    if killed == "vlang":
        end = time.monotonic() + HANGS
        while len(ranks_of(str(tmp_path))) < 2 and time.monotonic() < end:
            time.sleep(0.02)
        job.kill()
    text, _ = job.communicate(timeout=HANGS)
    assert "restart 1" not in text
    assert killed == "vlang" or (job.returncode, text.count("there is no such file")) == (1, 1), text
    assert ended(str(tmp_path))

"""The command as a process: exit statuses, pipes, signals, and the modules that it loads."""

from __future__ import annotations

import os
import pty
import select
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
COMMAND = [sys.executable, "-m", "vlang"]
SLOW = """program slow
vertex x: float = 1
repeat until sum(v.x for v in vertices) < 0:
    gather near = sum(u.x for u -- self)
    apply  x    = iteration + 0 * near
"""
ENDLESS_RANGE = """program slow
vertex x: int = 0
for i from 0 to 9223372036854775806:
    apply x = x + 1
"""


def start(*args: object, **options: Any) -> subprocess.Popen[str]:
    env = {**os.environ, "PYTHONPATH": f"{ROOT}:{os.environ.get('PYTHONPATH', '')}", **options.pop("env", {})}
    options = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True} | options
    process: subprocess.Popen[str] = subprocess.Popen([*COMMAND, *map(str, args)], env=env, **options)
    return process


def finish(*args: object, **options: object) -> tuple[int, str, str]:
    process = start(*args, **options)
    out, err = process.communicate(timeout=120)
    return process.returncode, out, err


def test_statuses() -> None:
    assert finish("run", "bfs", "karate", "source=1", "-q")[0] == 0
    assert finish("run", "bfs", "karate", "source=99")[0] == 1
    assert finish("run", "bfs", "karate")[0] == 2


def test_a_reader_that_goes_away_is_no_news() -> None:
    process = start("run", "components", "path:200000", "--max-rounds", "1", "-q", "-o", "-")
    assert process.stdout is not None
    assert process.stderr is not None
    assert process.stdout.readline() == "vertex,label\n"
    process.stdout.close()
    assert process.stderr.read() == ""
    assert process.wait(timeout=60) == 141


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no /dev/full here")
def test_a_full_standard_output() -> None:
    with open("/dev/full", "w") as full:
        status, _, err = finish("run", "bfs", "karate", "source=1", "-q", stdout=full)
    assert status == 1
    assert err == "error: standard output: no space left on device\n"


@pytest.mark.parametrize(("text", "graph"), [(SLOW, "kron:12"), (ENDLESS_RANGE, "path:5")])
def test_ctrl_c_is_one_line_and_leaves_no_file(text: str, graph: str, tmp_path: Path) -> None:
    program = tmp_path / "slow.vp"
    program.write_text(text)
    process = start("run", program, graph, "-o", tmp_path / "r.csv", stdout=subprocess.DEVNULL)
    assert process.stderr is not None
    for line in process.stderr:
        if line.startswith("round 2"):
            break
    process.send_signal(signal.SIGINT)
    begin = time.monotonic()
    rest = process.stderr.read()
    assert process.wait(timeout=60) == 130
    assert time.monotonic() - begin < 10
    assert rest.endswith("interrupted\n")
    assert "Traceback" not in rest
    assert os.listdir(tmp_path) == ["slow.vp"]


def test_a_bug_is_one_message_and_a_traceback_only_on_request(tmp_path: Path) -> None:
    breaker = tmp_path / "sitecustomize.py"
    breaker.write_text("import vlang.stdlib\n"
                       "def broken():\n    raise ZeroDivisionError('deep inside')\n"
                       "vlang.stdlib.names = broken\n")  # fmt: skip
    env = {"PYTHONPATH": f"{tmp_path}:{ROOT}"}
    status, out, err = finish("list", env=env)
    assert (status, out) == (70, "")
    assert err.splitlines()[0] == "error: a bug in vlang: ZeroDivisionError: deep inside"
    assert "report it" in err
    assert "Traceback" not in err
    assert "Traceback" in finish("list", env={**env, "VLANG_DEBUG": "1"})[2]


def test_a_warm_run_loads_neither_the_compiler_nor_the_painter_nor_readers_of_files() -> None:
    code = (
        "import sys, vlang.cli\n"
        "status = vlang.cli.main(['run', 'bfs', 'karate', 'source=1', '-q'])\n"
        "needless = {'numba', 'rich', 'cupy', 'scipy', 'networkx', 'vlang.runtime.graph.read'}\n"
        "print(status, *sorted(needless & set(sys.modules)))\n"
    )
    env = {**os.environ, "PYTHONPATH": f"{ROOT}:{os.environ.get('PYTHONPATH', '')}"}
    for _ in range(2):
        done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "0"


@pytest.mark.parametrize(("args", "status"), [(["list"], 0), (["info", "no-such-file"], 1)], ids=["list", "error"])
def test_a_process_that_has_used_a_gpu_ends_at_once_after_its_exit_functions(args: list[str], status: int) -> None:
    code = ("import atexit, sys, types\n"
            "from vlang.cli import main\n"
            "if 'gpu' in sys.argv:\n"
            "    sys.modules['vlang.runtime.gpu.device.card'] = types.ModuleType('card')\n"
            "    sys.argv.remove('gpu')\n"
            "atexit.register(print, 'ending')\n"
            "status = main()\n"
            "print('returned', flush=True)\n"
            "sys.exit(status)\n")
    env = {**os.environ, "PYTHONPATH": f"{ROOT}:{os.environ.get('PYTHONPATH', '')}"}
    plain, gpu = (subprocess.run([sys.executable, "-c", code, *args, *extra], env=env, capture_output=True, text=True)
                  for extra in ([], ["gpu"]))
    assert (plain.returncode, gpu.returncode) == (status, status)
    assert plain.stdout.endswith("returned\nending\n")
    assert gpu.stdout == plain.stdout.replace("returned\n", "")
    assert gpu.stderr == plain.stderr


def after_main(*args: str, say: str, env: dict[str, str] | None = None) -> str:
    """Return the value of the expression `say` in a process that has run a command. The value is in the last line of
    the output of the process.
    """
    code = f"import os, sys\nfrom vlang.cli import main\nstatus = main()\nprint({say})\n"
    known = {name: value for name, value in os.environ.items() if not name.endswith("_NUM_THREADS")}
    known |= {"PYTHONPATH": f"{ROOT}:{os.environ.get('PYTHONPATH', '')}"} | (env or {})
    done = subprocess.run([sys.executable, "-c", code, *args], env=known, capture_output=True, text=True, check=True)
    return done.stdout.splitlines()[-1]


@pytest.mark.skipif(not os.path.exists("/proc/self/task"), reason="threads are counted by Linux only")
def test_a_command_starts_no_threads_for_matrices() -> None:
    """A command does not start the thread pool of OpenBLAS, which an import of NumPy starts by default.

    The threads of this pool spin, and took a quarter of the time of a short run.
    """
    threads = "__import__('time').sleep(0.2) or len(os.listdir('/proc/self/task')), os.environ['OPENBLAS_NUM_THREADS']"
    assert after_main("info", "karate", say=threads) == "1 1"
    assert after_main("list", say=threads.split(", ")[1], env={"OPENBLAS_NUM_THREADS": "2"}) == "2"
    assert after_main("list", say="'OPENBLAS_NUM_THREADS' in os.environ", env={"OMP_NUM_THREADS": "2"}) == "False"


@pytest.mark.parametrize("args", [("--help",), ("list",), ("run", "--help"), ("--version",)], ids=" ".join)
def test_what_runs_nothing_loads_nothing_heavy(args: tuple[str, ...]) -> None:
    heavy = "{'numpy', 'numba', 'llvmlite', 'lark', 'rich'}"
    assert after_main(*args, say=f"status, *sorted({heavy} & set(sys.modules))") == "0"


def test_on_a_terminal_the_status_line_is_drawn_and_stdout_stays_clean(tmp_path: Path) -> None:
    program = tmp_path / "slow.vp"
    program.write_text(SLOW)
    master, slave = pty.openpty()
    process = start("run", program, "kron:10", "--top", "1", stderr=slave, env={"TERM": "xterm", "COLUMNS": "80"})
    os.close(slave)
    seen = b""
    deadline = time.monotonic() + 60
    while b"active" not in seen and time.monotonic() < deadline:
        ready, _, _ = select.select([master], [], [], 1)
        if not ready:
            continue
        try:
            seen += os.read(master, 65536)
        except OSError:  # the process has ended
            break
    process.send_signal(signal.SIGINT)
    while True:
        try:
            chunk = os.read(master, 65536)
        except OSError:
            break
        if not chunk:
            break
        seen += chunk
    assert process.stdout is not None
    assert process.stdout.read() == ""
    assert process.wait(timeout=60) == 130
    os.close(master)
    assert b"active" in seen
    assert seen.rstrip().endswith(b"interrupted")

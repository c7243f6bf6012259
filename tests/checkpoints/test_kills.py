"""Runs that were killed and resumed end with the same bits as undisturbed runs. VLANG_KILLS=200 sets the number of
kills to 200.
"""

from __future__ import annotations

import os
import random
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_killed_runs() -> None:
    kills, seed = int(os.environ.get("VLANG_KILLS", "8")), random.randrange(1 << 30)
    print(f"seed {seed}")
    done = subprocess.run([sys.executable, "-W", "error", "-m", "tests.checkpoints.kills", str(kills), str(seed)],
                          capture_output=True, text=True, timeout=600, cwd=ROOT,
                          env={**os.environ, "PYTHONPATH": str(ROOT)})  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    found = re.search(r"(\d+) kills, (\d+) runs, (\d+) of which went on .*, 0 differ", done.stdout)
    assert found, done.stdout
    assert int(found[1]) >= kills
    assert int(found[3]) >= int(found[2]) // 4, "most runs begin anew, so little is tested"

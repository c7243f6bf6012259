"""Measure ablations of the published systems: python benchmarks/seeds/run.py [garaph|gts|wolfgraph|ws-vr|hytgraph ...]

The script prints a table for each of the main ablations of a paper: the figure of the paper, the figure of this
machine, and the reason for a difference. Without a GPU the script prints a note and measures only the ablations that
need no GPU. R-MAT graphs have 2^scale vertices and 16 edges per vertex. Parts of a paper that vlang does not have are
listed, but not measured.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # import vlang from the checkout of this script

from benchmarks.cpu.conditions import conditions
from benchmarks.gpu import report
from benchmarks.seeds import garaph, gts, hytgraph, wolfgraph, ws_vr
from benchmarks.seeds.setup import Setup
from benchmarks.seeds.tables import markdown
from vlang.errors import DeviceError
from vlang.runtime.gpu.device.choose import parse_device
from vlang.runtime.gpu.device.gpus import check_gpu
from vlang.runtime.threads.processors import available_threads

__all__ = ["SYSTEMS", "main"]

SYSTEMS = {"garaph": garaph, "gts": gts, "wolfgraph": wolfgraph, "ws-vr": ws_vr, "hytgraph": hytgraph}


def main(arguments: Sequence[str] | None = None, device: str | None = None) -> list[dict[str, Any]]:
    """Measure and print; return the tables as dicts.

    Args:
        arguments: the arguments of the command; None for the arguments of the process.
        device: for tests, the name of an emulated device that replaces the GPU of this machine.
    """
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("systems", nargs="*", choices=[*SYSTEMS, []], help="the papers; default: all")
    parser.add_argument("--scale", type=int, default=22, help="2^scale vertices (default: 22)")
    parser.add_argument("--repeats", type=int, default=3, help="runs of which the median counts (default: 3)")
    parser.add_argument("--page-size", type=int, default=4 << 20, help="bytes of a streamed page (default: 4 MiB)")
    parser.add_argument("--device", default="gpu", help="gpu or gpu:K")
    parser.add_argument("--json", metavar="FILE", help="write the tables and the conditions to a file")
    options = parser.parse_args(arguments)
    gpu = device is not None or _has_gpu(options.device)
    setup = Setup(device or options.device, options.scale, options.repeats, options.page_size)
    found = []
    for name in options.systems or SYSTEMS:
        system = SYSTEMS[name]
        print(f"## {name}\n", flush=True)
        for one in system.tables(setup, gpu) if gpu or system.ON_CPU else ():
            print("\n".join(markdown(one)), flush=True)
            found.append({"system": name, **asdict(one)})
        for part in system.MISSING:
            print(f"- left out: {part}")
        print(flush=True)
    if options.json:
        before = report.conditions(options.device) if gpu and device is None else conditions(available_threads())
        record = {**before, "scale": options.scale, "page size": options.page_size, "tables": found}
        Path(options.json).write_text(json.dumps(record, indent=1, default=str) + "\n", encoding="utf-8")
    return found


def _has_gpu(name: str) -> bool:
    """Return whether the GPU exists, and print the reason if it does not."""
    try:
        check_gpu(parse_device(name)[1])
    except DeviceError as error:
        print(f"No GPU: {error}. Only what a CPU can show is measured.\n")
        return False
    return True


if __name__ == "__main__":
    main()

"""Test many random programs: `python -m tests.fuzz.long --count 2000 --seed 7 --results FILE`.

Programs are drawn in chunks, and each chunk has its own seed. Each completed chunk is a line of FILE, so that a stopped
run continues with the next chunk. Each program runs on five graphs with two sets of CPU options. Every eighth program
has 64 bits, and every 25th program also runs on an emulated GPU. A failing case is made smaller and saved next to FILE.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import click

from tests.fuzz.cases import GRAPHS, Fuzzed, drawn, judge, save_case, variants
from tests.fuzz.shrink import shrunk
from tests.reference.generators.programs import Generated
from vlang import Program, compile

__all__ = ["Tally", "fails_as", "precision_of", "tried"]

CHUNK = 20
NOT_YET = "no code for a GPU yet"
_GPU_EVERY, _WIDE_EVERY = 25, 8


@dataclass
class Tally:
    """The counts of one chunk.

    Attributes:
        failures: a line for each program that failed.
    """

    seed: int
    programs: int = 0
    runs: int = 0
    on_gpu: int = 0
    not_on_gpu: int = 0
    failures: list[str] = field(default_factory=list)
    seconds: float = 0.0


def precision_of(number: int) -> int:
    """Return the number of bits of `int` and `float` for program `number`."""
    return 64 if number % _WIDE_EVERY == _WIDE_EVERY - 1 else 32


def fails_as(error: Exception, cut: int, gpu: bool = False) -> Callable[[Fuzzed], bool]:
    """Return a function that returns whether a case fails with an error of the same kind."""
    def fails(case: Fuzzed) -> bool:
        try:
            judge(case, cut=cut, gpu=gpu)
        except Exception as other:
            return type(other) is type(error)
        return False

    return fails


def tried(made: Generated, number: int, folder: Path, name: str, gpu: bool) -> Iterator[str]:
    """Run one program on its graphs. Yield a line for the first failing case, which is made smaller and saved.

    Args:
        made: The program.
        number: The number of the program, which determines its precision.
        folder: The folder in which a failing case is saved.
        name: The name of the files of a failing case.
        gpu: Whether the program also runs on an emulated GPU.
    """
    program: Program | None = None
    for cut, case in enumerate(variants(made, GRAPHS, precision_of(number))):
        at = number if gpu else cut
        try:
            program = program or compile(made.text, precision=case.precision)
            judge(case, program, at, gpu)
        except Exception as error:
            if gpu and "[V401]" in str(error):
                yield NOT_YET
                return
            least = shrunk(case, fails_as(error, at, gpu), 150)
            path = save_case(least, folder, name, f"{type(error).__name__}, {'gpu ' if gpu else ''}cut {at}")
            yield f"{path}: {type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"
            return


def _chunk(seed: int, count: int, folder: Path, states: bool) -> Tally:
    """Run the programs of a chunk."""
    tally, start = Tally(seed), time.perf_counter()
    for number, made in enumerate(drawn(seed, count, states)):
        tally.programs += 1
        tally.runs += 2 * GRAPHS
        tally.failures += tried(made, number, folder, f"seed_{seed}_{number}", False)
        if number % _GPU_EVERY == seed % _GPU_EVERY:
            tally.on_gpu += 1
            found = list(tried(made, number, folder, f"seed_{seed}_{number}_gpu", True))
            tally.not_on_gpu += found == [NOT_YET]
            tally.failures += [line for line in found if line != NOT_YET]
    tally.seconds = round(time.perf_counter() - start, 1)
    return tally


@click.command(help=__doc__)
@click.option("--count", default=2000, show_default=True)
@click.option("--seed", default=1, show_default=True)
@click.option("--states", is_flag=True, help="Only programs with edge states.")
@click.option("--results", type=click.Path(path_type=Path), default=Path("build/fuzz/results.jsonl"), show_default=True)
def main(count: int, seed: int, states: bool, results: Path) -> None:
    results.parent.mkdir(parents=True, exist_ok=True)
    text = results.read_text(encoding="utf-8") if results.exists() else ""
    done = [json.loads(line) for line in text.splitlines()]
    seeds = {one["seed"] for one in done}
    for number in range(-(-count // CHUNK)):
        own = 10_000 * seed + number
        if own not in seeds:
            tally = _chunk(own, min(CHUNK, count - CHUNK * number), results.parent, states)
            done.append(vars(tally))
            with results.open("a", encoding="utf-8") as file:
                file.write(json.dumps(vars(tally)) + "\n")
            click.echo(f"seed {own}: {tally.programs} programs, {tally.runs} runs, {len(tally.failures)} failures, "
                       f"{tally.seconds:.0f} s")
            for line in tally.failures:
                click.echo(f"  {line}")
    failures = sum(len(one["failures"]) for one in done)
    click.echo(f"{sum(one['programs'] for one in done)} programs x {GRAPHS} graphs, {failures} failures: {results}")
    raise SystemExit(failures > 0)


if __name__ == "__main__":
    main()

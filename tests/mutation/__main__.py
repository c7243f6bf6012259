"""Plant mutations, and report the mutations that survive: `python -m tests.mutation [--results FILE]`.

Each mutation is planted alone in a copy of the tree. The test files that should detect the mutation run until a test
fails. A kill counts only if the failing test passes in the tree without the mutation. If a test hangs, the kill counts
only if this test takes less than a tenth of the time limit in the tree without the mutation. Results are lines of FILE,
so that an interrupted run continues.
"""

from __future__ import annotations

import json
from pathlib import Path

import click

from tests.mutation.judged import JUDGED
from tests.mutation.plan import SEED, drawn
from tests.mutation.trial import Trials, Verdict, copied

ROOT = Path(__file__).parents[2]
MOST_SURVIVORS = 2


@click.command(help=__doc__)
@click.option("--results", type=click.Path(path_type=Path), default=Path("build/mutation/results.jsonl"),
              show_default=True)
@click.option("--seed", default=SEED, show_default=True)
@click.option("--limit", default=1800.0, show_default=True, help="Seconds for the tests of one mutation.")
@click.option("--jobs", default=1, show_default=True, help="How many test files run at once, on two processors each.")
@click.option("--only", default="", help="Run the mutations of paths that begin so.")
def main(results: Path, seed: int, limit: float, jobs: int, only: str) -> None:
    results.parent.mkdir(parents=True, exist_ok=True)
    text = results.read_text(encoding="utf-8") if results.exists() else ""
    done = {one["site"]: Verdict(**one) for one in map(json.loads, text.splitlines())}
    trials = Trials(copied(ROOT, results.parent / "tree"), results.parent / "trials", limit, jobs)
    named = [(f"{site.path}:{site.line} {site.operator} {site.start}", site) for site in drawn(ROOT, seed)]
    for verdict in trials.judge([(name, site) for name, site in named
                                 if name not in done and site.path.startswith(only)]):
        done[verdict.site] = verdict
        with results.open("a", encoding="utf-8") as file:
            file.write(json.dumps(vars(verdict)) + "\n")
        click.echo(f"{verdict.site}: {verdict.said()}")
    left = [one for one in done.values() if not one.killed and one.changed not in JUDGED]
    killed = sum(one.killed for one in done.values())
    click.echo(f"{len(done)} mutations, {killed} killed, {len(left)} survived unjudged")
    raise SystemExit(len(left) > MOST_SURVIVORS)


if __name__ == "__main__":
    main()

"""Write the outputs of the compiler for the kept programs: `python -m tests.unchanged [--texts FOLDER]`.

Without --texts, the command writes the digests; use it after an intended change of outputs. With --texts the full text
of every stage is written to a folder, one file per program and stage. `diff -r` of two of these folders shows the
effect of a change of the compiler.
"""

from __future__ import annotations

from pathlib import Path

import click

from tests.unchanged.stages import stages
from tests.unchanged.test_unchanged import DIGESTS, derived_digests, programs


@click.command(help=__doc__)
@click.option("--texts", type=click.Path(path_type=Path), help="A folder for the texts.")
def main(texts: Path | None) -> None:
    if texts is None:
        lines = [derived_digests(number, text) for number, text in enumerate(programs())]
        DIGESTS.write_text("\n".join(lines) + "\n", encoding="utf-8")
        return
    texts.mkdir(parents=True, exist_ok=True)
    for number, text in enumerate(programs()):
        for name, derived in stages(text, number):
            (texts / f"{number:03}.{name}").write_text(derived, encoding="utf-8")


if __name__ == "__main__":
    main()

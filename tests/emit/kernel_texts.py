"""Compute digests of the LLVM text and PTX of every kernel of the standard library, without names.

`python tests/emit/kernel_texts.py write FILE [--only NAME...] [--kinds llvm ptx] [--bits 32 64]` runs in a checkout.
`python tests/emit/kernel_texts.py compare OLD NEW` compares the files of two checkouts, and shows whether a change
leaves all kernels unchanged. Set PYTHONPATH to the checkout and PYTHONHASHSEED to 0 before both runs, since the order
of numba's instructions depends on sets of names. Each program is compiled in its own process, since numba numbers names
in the order of their use in a process.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib
import itertools
import json
import multiprocessing
import os
import re
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

_LLVM_NAME = re.compile(r'[@%]("[^"]*"|[-\w.$]+)')
_PTX_DEFINED = re.compile(r"(?:\.entry|\.func(?:\s*\([^)]*\))?|\.b(?:8|16|32|64)|\.u64)\s+([A-Za-z_$][\w$]*)")


def _numbered(text: str, pattern: re.Pattern[str]) -> str:
    """Return a text in which each name that matches a pattern is replaced by the number of its first appearance."""
    seen: dict[str, str] = {}
    return pattern.sub(lambda found: found[0][0] + seen.setdefault(found[0], str(len(seen))), text)


def llvm_functions(text: str) -> Iterator[str]:
    """Yield the functions of an optimised module, without names, comments and metadata."""
    text = re.sub(r";.*|!\w+( !\d+)?|#\d+", "", text)
    for body in re.findall(r"^define.*?^}", text, re.MULTILINE | re.DOTALL):
        yield re.sub(r"\s+", " ", _numbered(body, _LLVM_NAME))


def ptx_functions(text: str) -> Iterator[str]:
    """Yield the kernels of a PTX module, without names and comments."""
    text = re.sub(r"//.*", "", text)
    for body in re.split(r"(?=^\.(?:visible|weak|func))", text, flags=re.MULTILINE)[1:]:
        names = "|".join(sorted(map(re.escape, _PTX_DEFINED.findall(body)), key=len, reverse=True)) or r"\b\B"
        yield re.sub(r"\s+", " ", _numbered(body, re.compile(rf"\b(?:{names}|_Z\w+)(?:_param_\d+)?|\$L__BB\w+")))


def _modules_of_numba(name: str, bits: int) -> Iterator[str]:
    """Yield the linked and optimised modules of every exported kernel, without machine code."""
    vlang = importlib.import_module("vlang")
    try:
        numba = importlib.import_module("vlang.runtime.compile.compile_numba")
    except ModuleNotFoundError:  # older checkouts have the module in another place
        numba = importlib.import_module("vlang.runtime.devices.compile_numba")
    texts: list[str] = []
    link = vars(numba).setdefault("_plain_link", numba.link)

    class Machine:
        def emit_object(self, _: Any) -> bytes:
            return b""

    def keep(*given: Any) -> Any:
        module = link(*given)
        texts.append(str(module))
        return module

    vars(numba).update(link=keep, target_machine=Machine)
    program = vlang.load(name, precision=bits)
    given = frozenset(field.name for field in program.fields if field.required)
    plan = program.plan(frozenset(edge.name for edge in program.edges), given)
    compiler = numba.Compiler(plan.text)
    for kernel, signature in plan.exports.items():
        result, _, args = signature.partition("(")
        compiler.object_code(kernel, result.strip(), tuple(a.strip() for a in args.rstrip(")").split(",") if a.strip()),
                             "k")
    yield from texts


def _modules_of_cuda(name: str, bits: int) -> Iterator[str]:
    vlang, nvrtc = importlib.import_module("vlang"), importlib.import_module("tests.cuda.kernels.test_nvrtc")
    plan = nvrtc.plan_of(vlang.load(name, precision=bits))
    entries = dict(nvrtc.entry(template, struct, *constants) for template, struct, constants in nvrtc.kernels_of(plan))
    compiler = importlib.import_module("cuda.bindings.nvrtc")

    def checked(answer: Any) -> Any:
        assert int(answer[0]) == 0, answer[0]
        return answer[1] if len(answer) > 1 else None

    source = nvrtc.whole_source(plan.text, entries).encode()
    program = checked(compiler.nvrtcCreateProgram(source, b"vlang.cu", 0, None, None))
    options = [b"--std=c++17", b"--fmad=false", b"--gpu-architecture=compute_90"]
    checked(compiler.nvrtcCompileProgram(program, len(options), options))
    text = bytearray(checked(compiler.nvrtcGetPTXSize(program)))
    checked(compiler.nvrtcGetPTX(program, text))
    yield text.rstrip(b"\0").decode()


_KINDS = {"llvm": (_modules_of_numba, llvm_functions), "ptx": (_modules_of_cuda, ptx_functions)}


def write(path: Path, only: list[str], kinds: list[str], bits: list[int]) -> None:
    """Write {kind: {"NAME BITS": digests}} to a file. Names that are already in the file are not compiled again."""
    found: dict[str, dict[str, list[str]]] = json.loads(path.read_text()) if path.exists() else {}
    names = only or importlib.import_module("vlang.stdlib").names()
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn"), max_tasks_per_child=1) as fresh:
        for kind, name, width in itertools.product(kinds, names, bits):
            key, known = f"{name} {width}", found.setdefault(kind, {})
            if key not in known:
                known[key] = fresh.submit(_digests, kind, name, width).result()
                path.write_text(json.dumps(found))


def _digests(kind: str, name: str, bits: int) -> list[str]:
    modules, functions = _KINDS[kind]
    return sorted(hashlib.sha256(body.encode()).hexdigest()[:16]
                  for module in modules(name, bits) for body in functions(module))


def compare(old: Path, new: Path) -> None:
    """Print how many programs and kernels are equal, and which programs differ."""
    before, after = json.loads(old.read_text()), json.loads(new.read_text())
    for kind in sorted(set(before) & set(after)):
        both = sorted(set(before[kind]) & set(after[kind]))
        same = [key for key in both if before[kind][key] == after[kind][key]]
        shared = sum((Counter(before[kind][key]) & Counter(after[kind][key])).total() for key in both)
        total = sum(len(after[kind][key]) for key in both)
        print(f"{kind}: {len(same)} of {len(both)} programs equal, {shared:,} of {total:,} kernels and functions")
        print("  different:", ", ".join(f"{key} ({(Counter(after[kind][key]) - Counter(before[kind][key])).total()})"
                                         for key in both if key not in same) or "none")


def main() -> None:
    """Write or compare digests (see the docstring of the module)."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=["write", "compare"])
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--only", nargs="*", default=[])
    parser.add_argument("--kinds", nargs="*", default=list(_KINDS))
    parser.add_argument("--bits", nargs="*", type=int, default=[32, 64])
    given = parser.parse_args()
    if given.what == "write":
        if os.environ.get("PYTHONHASHSEED") != "0":
            parser.error("set PYTHONHASHSEED=0: numba orders instructions by sets of names")
        write(given.files[0], given.only, given.kinds, given.bits)
    else:
        compare(*given.files)


if __name__ == "__main__":
    main()

"""Lowering against a bare `libcst.parse_module`, and what the cache saves.

    python tests/bench/bench_static_lower.py FOLDER...

For each folder, over the files that name torch: the time of a bare libcst parse (garbage collection paused, its best
case), of `ast.parse`, of lowering, of writing the forms down and of reading them back, each in one process; ratios are
to the libcst parse. `--all` takes the files that do not name torch too. Every position is checked with `--verify`.
"""

from __future__ import annotations

import argparse
import ast
import gc
import importlib.util
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import libcst
import msgspec

from syncwatch.static import ir
from syncwatch.static.discover import discover
from syncwatch.static.errors import SyntaxProblem
from syncwatch.static.lower import lower
from syncwatch.static.source import decode, names_torch, read
from syncwatch.static.stack import on_deep_stack


def timed(work: Callable[[], Any]) -> tuple[float, Any]:
    """Seconds, and the result."""
    gc.collect()
    start = time.perf_counter()
    result = work()
    return time.perf_counter() - start, result


def load(folder: str, every: bool) -> tuple[list[tuple[str, str]], list[str]]:
    """Path and text of the files, and what could not be read."""
    texts, lost = [], []
    for path in discover([folder], respect_gitignore=False).files:
        try:
            data = read(path)
            if path.endswith(".py") and (every or names_torch(data)):
                texts.append((path, decode(data)))
        except SyntaxProblem as problem:
            lost.append(f"{path}: {problem}")
    return texts, lost


def lower_all(texts: list[tuple[str, str]], lost: list[str]) -> list[ir.Module]:
    """The forms; what cannot be lowered goes to `lost`."""
    forms = []
    for path, text in texts:
        try:
            forms.append(lower(text, path))
        except SyntaxProblem as problem:
            lost.append(f"{path}: {problem}")
    return forms


def parse_all(texts: list[tuple[str, str]], parse: Callable[[str], Any]) -> None:
    """Parses each text and drops the tree."""
    for _, text in texts:
        try:
            parse(text)
        except Exception:  # counted by lowering
            continue


def misplaced(texts: list[tuple[str, str]]) -> int:
    """How many nodes are not where their position says."""
    path = Path(__file__).parent.parent / "support" / "forms.py"
    spec = importlib.util.spec_from_file_location("forms", path)
    assert spec is not None
    assert spec.loader is not None
    forms = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(forms)
    wrong = 0
    for name, text in texts:
        try:
            found = forms.misplaced(text)
        except SyntaxProblem:
            continue
        wrong += len(found)
        for each in found[:3]:
            print(f"  {name}: {each}", file=sys.stderr)
    return wrong


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+")
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--verify", action="store_true")
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    heads = ("files", "lost", "lines", "libcst s", "ast s", "lower s", "lower/libcst", "write s", "read s", "MB")
    print(f"{'folder':<14}" + "".join(f"{head:>13}" for head in heads))
    for folder in args.folders:
        texts, lost = load(folder, args.all)
        gc.disable()
        concrete, _ = timed(lambda texts=texts: on_deep_stack(lambda: parse_all(texts, libcst.parse_module)))
        gc.enable()
        plain, _ = timed(lambda texts=texts: parse_all(texts, ast.parse))
        ours, forms = timed(lambda texts=texts, lost=lost: on_deep_stack(lambda: lower_all(texts, lost)))
        writing, data = timed(lambda forms=forms: [msgspec.msgpack.encode(form) for form in forms])
        decoder = msgspec.msgpack.Decoder(ir.Module)
        reading, _ = timed(lambda data=data, decoder=decoder: [decoder.decode(each) for each in data])
        lines = sum(form.lines for form in forms)
        size = sum(map(len, data)) / 1e6
        print(
            f"{Path(folder).name:<14}{len(forms):>13}{len(lost):>13}{lines:>13}{concrete:>13.2f}{plain:>13.2f}"
            f"{ours:>13.2f}{ours / concrete:>13.2f}{writing:>13.2f}{reading:>13.2f}{size:>13.1f}"
        )
        for each in lost:
            print(f"  {each}")
        if args.verify:
            print(f"  nodes that are not where their position says: {misplaced(texts)}")


if __name__ == "__main__":
    main()

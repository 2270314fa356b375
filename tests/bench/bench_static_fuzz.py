"""Thousands of mutated and made-up texts through the lowering: no crash, no hang.

    python tests/bench/bench_static_fuzz.py [--inputs 6000] [--seed 1] [FOLDER...]

Real source (this package's, and that of FOLDERs) is cut and mutated. Each input must give a form whose positions are
right, or one clear problem, within `--limit` seconds. A crash of the process itself shows as its exit status.
"""

from __future__ import annotations

import argparse
import collections
import importlib.util
import random
import sys
import time
from pathlib import Path
from types import ModuleType

import syncwatch
from syncwatch.static.discover import discover
from syncwatch.static.errors import SyntaxProblem
from syncwatch.static.lower import lower
from syncwatch.static.source import decode, read


def support(name: str) -> ModuleType:
    """A module of tests/support."""
    spec = importlib.util.spec_from_file_location(name, Path(__file__).parent.parent / "support" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="*")
    parser.add_argument("--inputs", type=int, default=6000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--limit", type=float, default=20.0)
    args = parser.parse_args()
    forms, mutate = support("forms"), support("mutate")
    paths = discover([str(Path(syncwatch.__file__).parent), *args.folders], respect_gitignore=False).files
    texts = []
    for path in paths:
        try:
            texts.append(decode(read(path)))
        except SyntaxProblem:
            continue
    rng = random.Random(args.seed)
    counts: collections.Counter[str] = collections.Counter()
    slowest, failures = 0.0, 0
    for number in range(args.inputs):
        seed = rng.getrandbits(40)
        text = rng.choice(texts)
        source = mutate.mutated(text, seed) if number % 10 == 0 else mutate.piece(text, seed, rng.choice((8, 40, 120)))
        start = time.perf_counter()
        seconds = None
        try:
            lower(source, "fuzz.py")
            seconds = time.perf_counter() - start
            counts["forms"] += 1
            wrong = forms.misplaced(source.replace("\r\n", "\n").replace("\r", "\n"))
        except SyntaxProblem as problem:
            counts["problems"] += 1
            wrong = [] if problem.message else ["a problem without words"]
        except Exception as error:
            wrong = [f"{type(error).__name__}: {error}"]
        seconds = seconds or time.perf_counter() - start
        slowest = max(slowest, seconds)
        if seconds > args.limit:
            wrong.append(f"took {seconds:.1f} s")
        if wrong:
            failures += 1
            Path(f"fuzz-{args.seed}-{number}.txt").write_text(source, encoding="utf-8", errors="surrogatepass")
            print(f"input {number} (kept in fuzz-{args.seed}-{number}.txt): {wrong[0]}", file=sys.stderr)
    print(
        f"{args.inputs} inputs: {counts['forms']} forms, {counts['problems']} problems, {failures} failures; "
        f"slowest {slowest:.2f} s"
    )
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())

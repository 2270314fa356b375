"""Proves syncwatch on a real GPU: what the static engine reports, what the recorder sees, what the device shows.

    python -m tests.gpu.prove FOLDER [--rules SW101 SW2 …] [--cases FOLDER] [--sleep-ms 4] [--no-samples]
    python -m tests.gpu.prove FOLDER --part 1/3 (2/3, 3/3)      a third of the programs, added to what FOLDER holds
    python -m tests.gpu.prove FOLDER --seconds 300              what FOLDER does not hold yet, or in another wording
    python -m tests.gpu.prove FOLDER --merge

Every program (the bad, good and fixed blocks of the rules, the samples, and the programs of a folder with a truth.json)
runs three times: to warm up, behind a sleeping GPU (measured), and under the recorder (recorded). FOLDER then holds
proof.json, rules.json (kept as rules/proof.json) and proof.md (kept as docs/proofs.md), with a line for each program;
proof_table.py says when the three agree. --merge adds the static findings again, on any machine. The exit status is 1
where a program disagrees.

Where the recorder and the measurement differ, the program is measured again behind a sleep ten times as long, and each
line's time on an idle device is taken off, so that slow work of the host is not taken for a wait. A program that sets
what CUDA reads when it starts runs in a process of its own besides, and a launch is timed there.
"""

from __future__ import annotations

import argparse
import datetime
import json
import sys
import time
import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from syncwatch import catalog
from tests.gpu.proof_table import Program, add_static, announced, by_rule, table, verdict, waiting

LONGER = 10
ROOT = Path(__file__).resolve().parents[2]


def programs(args: argparse.Namespace, folder: Path) -> Iterator[Program]:
    """All programs that were asked for. Blocks of rules are written to `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    for rule in catalog.load():
        if not rule.id.startswith(tuple(args.rules)) or rule.requires == "ranks":
            continue
        for number, block in enumerate(catalog.read_document(rule).blocks):
            path = folder / f"{rule.id}_{block.tag}_{number}.py"
            path.write_text(block.code, encoding="utf-8")
            sets = any(op.startswith("os.") for op in rule.ops)
            yield Program(f"{rule.id} {block.tag}", path, announced=tuple(announced(block)), sets_environment=sets)
    if not args.no_samples:
        for path in sorted((ROOT / "samples").glob("*/*.py")):
            copy = folder / f"sample_{path.parent.name}_{path.stem}.py"
            copy.write_text(path.read_text(encoding="utf-8"), encoding="utf-8")
            yield Program(f"sample {path.parent.name}/{path.stem}", copy, argv=("4",))
    if args.cases:
        truth = json.loads((Path(args.cases) / "truth.json").read_text())
        for name, known in sorted(truth.items()):
            lines = {int(line): stat for line, stat in known["lines"].items()}
            yield Program(f"case {name}", Path(args.cases) / name, lines)


def measure(
    program: Program, bench: Any, sleep_ms: float, idle: dict[int, float] | None = None
) -> dict[int, dict[str, int]]:
    """The lines of a program behind a sleeping GPU. `idle`: milliseconds that lines take by themselves."""
    import torch

    if program.truth is not None:
        return program.truth
    torch.manual_seed(0)
    arguments, sys.argv = sys.argv, [str(program.path), *program.argv]
    try:
        lines = bench.run(program.path, sleep_ms=sleep_ms, idle=idle)
        if sleep_ms == 0:
            return {line: {"ms": s.ms} for line, s in lines.items()}
    finally:
        sys.argv = arguments
    return {line: {"hits": s.hits, "blocked": s.blocked, "waits": s.waits} for line, s in lines.items()}


def prove(program: Program, bench: Any, sleep_ms: float) -> dict[str, Any]:
    """One row of the table."""
    from tests.gpu.launches import launch_after
    from tests.gpu.recorded import by_line, record, run_program

    row: dict[str, Any] = {
        "path": program.path.name,
        "digest": program.digest,
        "error": "",
        "announced": list(program.announced),
    }
    try:
        run_program(program.path, list(program.argv))
        measured = measure(program, bench, sleep_ms)
        if program.sets_environment:
            row["launch"] = launch_after(program.path)
    except Exception:
        row["error"] = traceback.format_exc(limit=-3)
        return row
    sites, row["error"] = record(program.path, list(program.argv), warm=False)
    row["recorded"] = {str(line): what for line, what in by_line(sites).items()}
    row["measured"] = waiting(measured, row["recorded"])
    if set(row["measured"]) != set(row["recorded"]) and program.truth is None:
        idle = {line: found["ms"] for line, found in measure(program, bench, 0.0).items()}
        row["measured"] = waiting(measure(program, bench, sleep_ms * LONGER, idle), row["recorded"])
    return row


def main() -> int:
    """See the head of this file."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--rules", nargs="*", default=[""], help="ids or beginnings of ids")
    parser.add_argument("--cases", help="a folder of programs with a truth.json")
    parser.add_argument("--no-samples", action="store_true")
    parser.add_argument("--sleep-ms", type=float, default=4.0)
    parser.add_argument("--part", type=part, default=(1, 1), metavar="K/N", help="only every Nth program, from the Kth")
    parser.add_argument("--seconds", type=float, help="begin no program after this time; run again for the rest")
    parser.add_argument(
        "--merge", action="store_true", help="add the static findings to what FOLDER holds, run nothing"
    )
    args = parser.parse_args()
    args.folder.mkdir(parents=True, exist_ok=True)
    file = args.folder / "proof.json"
    work = args.folder / "programs"
    if args.merge:
        result = json.loads(file.read_text())
        for program in chosen(args, work):  # writes the blocks again
            row = result["programs"].get(program.name)
            if row is not None and row["digest"] != program.digest:
                row["error"] = "the program has changed since it was measured"
    else:
        result = run_all(args, work, file)
    try:
        add_static(result["programs"], [work, *([Path(args.cases)] if args.cases else [])])
    except ImportError as error:
        print(f"without static findings ({error}): --merge adds them on another machine")
    file.write_text(json.dumps(result, indent=1))
    (args.folder / "proof.md").write_text(table(result))
    (args.folder / "rules.json").write_text(json.dumps(by_rule(result)).replace("}, ", "},\n") + "\n")
    wrong = {name: verdict(row) for name, row in result["programs"].items() if verdict(row) != "agree"}
    print(*(f"{name}: {text}" for name, text in wrong.items()), sep="\n")
    print(f"{len(result['programs']) - len(wrong)} of {len(result['programs'])} programs agree")
    return 1 if wrong else 0


def part(text: str) -> tuple[int, int]:
    """`2/3` as (2, 3). Raises ArgumentTypeError for anything else."""
    first, _, last = text.partition("/")
    if first.isdigit() and last.isdigit() and 1 <= int(first) <= int(last):
        return int(first), int(last)
    raise argparse.ArgumentTypeError(f"{text}: give the part as K/N, such as 2/3")


def chosen(args: argparse.Namespace, work: Path) -> list[Program]:
    """The programs of this part, each with a name of its own."""
    named: dict[str, Program] = {}
    for program in programs(args, work):
        while program.name in named:
            program.name += "'"
        named[program.name] = program
    number, parts = args.part
    return list(named.values())[number - 1 :: parts]


def earlier(args: argparse.Namespace, file: Path, head: dict[str, Any]) -> dict[str, Any]:
    """The rows that FOLDER holds of other parts, or of a run that ran out of time, on the same GPU and torch."""
    if (args.part == (1, 1) and args.seconds is None) or not file.exists():
        return {}
    held = json.loads(file.read_text())
    rows: dict[str, Any] = held["programs"] if all(held.get(key) == value for key, value in head.items()) else {}
    return rows


def run_all(args: argparse.Namespace, work: Path, file: Path) -> dict[str, Any]:
    """Runs every program of this part on the GPU. With --seconds, those that FOLDER holds already are not run again."""
    import torch

    from tests.gpu.prove_rules import Bench

    head = {"gpu": torch.cuda.get_device_name(), "torch": torch.__version__, "date": datetime.date.today().isoformat()}
    result: dict[str, Any] = {**head, "programs": earlier(args, file, head)}
    bench = Bench()
    start = time.perf_counter()
    for program in chosen(args, work):
        begin = time.perf_counter()
        if args.seconds is not None:
            if result["programs"].get(program.name, {}).get("digest") == program.digest:
                continue
            if begin - start > args.seconds:
                print("out of time: run the same command again for the rest", flush=True)
                break
        row = result["programs"][program.name] = prove(program, bench, args.sleep_ms)
        print(f"{program.name}: {verdict(row)} ({time.perf_counter() - begin:.1f} s)", flush=True)
        file.write_text(json.dumps(result))
    return result


if __name__ == "__main__":
    sys.exit(main())

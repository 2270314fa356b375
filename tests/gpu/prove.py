"""Proves syncwatch on a real GPU: what the static engine reports, what the recorder sees, what the device shows.

    python -m tests.gpu.prove FOLDER [--rules SW101 SW2 …] [--cases FOLDER] [--sleep-ms 4] [--no-samples]
    python -m tests.gpu.prove FOLDER --part 1/3 (2/3, 3/3)      a third of the programs, added to what FOLDER holds
    python -m tests.gpu.prove FOLDER --merge

Every program (the bad, good and fixed blocks of the rules, the samples, and the programs of a folder with a truth.json)
runs three times: to warm up, behind a sleeping GPU (measured), and under the recorder (recorded). FOLDER then holds
proof.json, and proof.md with a line for each program. Where libcst is installed, the static findings stand beside them;
--merge adds them on another machine, without a GPU. The exit status is 1 where two of the three differ.

A line is *measured* when it waited for a stream, an event or the device, or held the host at least twice, *steady* when
it held the host at least twice and on half of its runs: that is what a static finding claims. A line that held the host
once without waiting (the first collective sets NCCL up) is work of the host. Where the recorder and the measurement
differ, the program is measured again behind a sleep ten times as long, which slow work of the host does not outlast.
"""

from __future__ import annotations

import argparse
import dataclasses
import datetime
import importlib.util
import json
import sys
import time
import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from syncwatch import catalog
from syncwatch.model import Kind
from syncwatch.proof import digest

LONGER = 10
ROOT = Path(__file__).resolve().parents[2]


@dataclasses.dataclass
class Program:
    """A program to prove: a block of a rule, a sample, or a case."""

    name: str
    path: Path
    truth: dict[int, dict[str, int]] | None = None  # already measured
    argv: tuple[str, ...] = ()


def programs(args: argparse.Namespace, folder: Path) -> Iterator[Program]:
    """All programs that were asked for. Blocks of rules are written to `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    for rule in catalog.load():
        if not rule.id.startswith(tuple(args.rules)) or rule.requires == "ranks":
            continue
        for number, block in enumerate(catalog.read_document(rule).blocks):
            path = folder / f"{rule.id}_{block.tag}_{number}.py"
            path.write_text(block.code, encoding="utf-8")
            yield Program(f"{rule.id} {block.tag}", path)
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


def measure(program: Program, bench: Any, sleep_ms: float) -> dict[int, dict[str, int]]:
    """The lines of a program behind a sleeping GPU."""
    import torch

    if program.truth is not None:
        return program.truth
    torch.manual_seed(0)
    arguments, sys.argv = sys.argv, [str(program.path), *program.argv]
    try:
        lines = bench.run(program.path, sleep_ms=sleep_ms)
    finally:
        sys.argv = arguments
    return {line: {"hits": s.hits, "blocked": s.blocked, "waits": s.waits} for line, s in lines.items()}


def prove(program: Program, bench: Any, sleep_ms: float) -> dict[str, Any]:
    """One row of the table."""
    from tests.gpu.recorded import by_line, record, run_program

    row: dict[str, Any] = {"path": program.path.name, "error": ""}
    try:
        run_program(program.path, list(program.argv))
        measured = measure(program, bench, sleep_ms)
    except Exception:
        row["error"] = traceback.format_exc(limit=-3)
        return row
    sites, row["error"] = record(program.path, list(program.argv), warm=False)
    row["recorded"] = {str(line): what for line, what in by_line(sites).items()}
    row["measured"] = waiting(measured, row["recorded"])
    if set(row["measured"]) != set(row["recorded"]) and program.truth is None:
        row["measured"] = waiting(measure(program, bench, sleep_ms * LONGER), row["recorded"])
    return row


def waiting(measured: dict[int, dict[str, int]], recorded: dict[str, Any]) -> dict[str, dict[str, int]]:
    """The lines that wait."""
    return {
        str(line): stat
        for line, stat in sorted(measured.items())
        if stat["waits"] or stat["blocked"] >= 2 or (stat["blocked"] and str(line) in recorded)
    }


def steady(row: dict[str, Any]) -> set[int]:
    """The lines that block at each step."""
    return {
        int(line)
        for line, stat in row.get("measured", {}).items()
        if stat["blocked"] >= 2 and stat["blocked"] * 2 >= stat["hits"]
    }


def add_static(rows: dict[str, Any], folders: list[Path]) -> None:
    """Adds the lines of the static findings, of the kinds that block."""
    import syncwatch

    outcome = syncwatch.check([folder for folder in folders if folder.is_dir()])
    spans: dict[str, list[tuple[int, int]]] = {}
    for finding in outcome.findings:
        row = next((row for row in rows.values() if row["path"] == Path(finding.path).name), {})
        # whether a copy from pageable memory waits depends on its size and on the queue: it counts where it did
        if finding.kind.blocks or (finding.kind is Kind.PAGEABLE_ASYNC and finding.line in steady(row)):
            spans.setdefault(Path(finding.path).name, []).append((finding.line, finding.end_line or finding.line))
    for row in rows.values():
        blocking = steady(row)
        found = set()
        for first, last in spans.get(row["path"], []):
            # a statement of several lines is measured at one of them
            inside = blocking & set(range(first, last + 1))
            found |= inside or {first}
        row["static"] = sorted(found)


def verdict(row: dict[str, Any]) -> str:
    """Agreement, or what differs."""
    if row["error"] or "measured" not in row:
        return "fails: " + (row["error"].strip().splitlines() or ["?"])[-1]
    recorded, measured = {int(line) for line in row["recorded"]}, {int(line) for line in row["measured"]}
    parts = []
    if recorded - measured:
        parts.append(f"recorded only: {listed(recorded - measured)}")
    if measured - recorded:
        parts.append(f"not recorded: {listed(measured - recorded)}")
    if "static" in row:
        static = set(row["static"])
        if static - measured:
            parts.append(f"static only: {listed(static - measured)}")
        if steady(row) - static:
            parts.append(f"not in static: {listed(steady(row) - static)}")
    return "; ".join(parts) or "agree"


def listed(lines: Any) -> str:
    """Line numbers in a cell of the table."""
    return " ".join(str(line) for line in sorted(int(line) for line in lines)) or "–"


def table(result: dict[str, Any]) -> str:
    """The table as Markdown."""
    rows = result["programs"]
    agreeing = sum(verdict(row) == "agree" for row in rows.values())
    head = (
        f"Measured on one {result['gpu']} with torch {result['torch']}, {result['date']}: "
        f"{agreeing} of {len(rows)} programs agree.\n\n"
        "| program | static | recorded | measured | verdict |\n| --- | --- | --- | --- | --- |\n"
    )
    lines = []
    for name, row in rows.items():
        cells = [listed(row["static"]) if "static" in row else "", listed(row.get("recorded", {}))]
        lines.append(f"| {name} | {' | '.join(cells)} | {listed(row.get('measured', {}))} | {verdict(row)} |\n")
    return head + "".join(lines)


def by_rule(result: dict[str, Any]) -> dict[str, Any]:
    """What `syncwatch explain` tells of each rule: how many of its programs were proved, where and when.

    Kept as rules/proof.json. The digest ties it to the programs that were proved.
    """
    rules: dict[str, dict[str, Any]] = {}
    for name, row in result["programs"].items():
        found = catalog.load().find(name.split()[0])
        if found is None:
            continue
        counts = rules.setdefault(
            found.id, {"programs": 0, "proved": 0, "digest": digest(catalog.read_document(found))}
        )
        counts["programs"] += 1
        counts["proved"] += verdict(row) == "agree"
    return {"gpu": result["gpu"], "torch": result["torch"], "date": result["date"], "rules": rules}


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
    parser.add_argument("--merge", action="store_true", help="add the static findings to what FOLDER holds")
    args = parser.parse_args()
    args.folder.mkdir(parents=True, exist_ok=True)
    file = args.folder / "proof.json"
    work = args.folder / "programs"
    if args.merge:
        result = json.loads(file.read_text())
        for row in result["programs"].values():
            if "measured" in row:
                row["measured"] = waiting({int(line): stat for line, stat in row["measured"].items()}, row["recorded"])
        list(programs(args, work))  # writes the blocks again
    else:
        result = run_all(args, work, file)
    if importlib.util.find_spec("libcst") is not None:
        add_static(result["programs"], [work, *([Path(args.cases)] if args.cases else [])])
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
            if program.name in result["programs"]:
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

"""Compares the recorder with what was measured on a real GPU.

    python tests/gpu/check_recorder.py OUT.json [--snippets FOLDER TRUTH.json] [--cases FOLDER] [--waits]

--snippets: FOLDER holds snippets.py (`snippets(device)` gives named makers of calls), TRUTH.json says whether each
blocks; each must be recorded if and only if it blocks. --cases: FOLDER holds programs and truth.json with the lines
that block or wait. --waits: the time of a wait behind a GPU sleep of known length, for operations of every kind.
"""

from __future__ import annotations

import argparse
import importlib
import json
import sys
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
sys.path.insert(0, str(Path(__file__).resolve().parent))

import torch
from recorded import by_line, record

import syncwatch


def cycles_per_ms() -> float:
    """The GPU's clock, for torch.cuda._sleep."""
    torch.cuda._sleep(1000)
    torch.cuda.synchronize()
    begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    begin.record()
    torch.cuda._sleep(20_000_000)
    end.record()
    torch.cuda.synchronize()
    return 20_000_000 / begin.elapsed_time(end)


def check_snippets(folder: str, truth_file: str, sleep_ms: float, rate: float) -> dict[str, Any]:
    """Each snippet behind a sleeping GPU, in a watch."""
    sys.path.insert(0, folder)
    makers = importlib.import_module("snippets").snippets(torch.device("cuda"))
    truth = json.loads(Path(truth_file).read_text())
    torch.manual_seed(0)
    rows: dict[str, Any] = {}
    for name, make in makers.items():
        known = truth.get(name)
        if known is None or "blocked" not in known:
            continue
        try:
            make()()
            torch.cuda.synchronize()
            call = make()
            torch.cuda.synchronize()
            torch.cuda._sleep(int(sleep_ms * rate))
            begin = time.perf_counter()
            with syncwatch.watch() as report:
                call()
            spent = (time.perf_counter() - begin) * 1e3
            torch.cuda.synchronize()
        except Exception:
            rows[name] = {"error": traceback.format_exc(limit=-2)}
            continue
        rows[name] = {
            "blocked": known["blocked"],
            "warnings": known["warnings"],
            "count": report.count,
            "host_ms": round(spent, 3),
            "wait_ms": round(report.wait_ms, 3),
            "untimed": report.totals["untimed"],
            "sites": [[s.kind.value, s.op, s.count, s.explicit, s.wait_ms] for s in report.sites],
        }
    wrong = [name for name, row in rows.items() if "error" in row or row["blocked"] != (row["count"] > 0)]
    counted = [n for n, r in rows.items() if "error" not in r and r["warnings"] and r["count"] != r["warnings"]]
    unnamed = [n for n, r in rows.items() if any(site[1] == "torch" for site in r.get("sites", []))]
    untimed = [n for n, r in rows.items() if any(site[4] is None for site in r.get("sites", []))]
    print(f"snippets: {len(rows)}, blocking {sum(r.get('blocked', False) for r in rows.values())}, wrong {wrong}")
    print(f"  count differs from the warnings: {counted}\n  unnamed: {unnamed}\n  untimed: {untimed}")
    return {"rows": rows, "wrong": wrong}


def check_cases(folder: str) -> dict[str, Any]:
    """Each program, line by line."""
    truth = json.loads((Path(folder) / "truth.json").read_text())
    result: dict[str, Any] = {}
    lines_ran = agree = same_count = with_count = 0
    for name, known in sorted(truth.items()):
        sites, error = record(Path(folder) / name)
        recorded = by_line(sites)
        differences = []
        for text, stat in known["lines"].items():
            line = int(text)
            lines_ran += 1
            expected = stat["blocked"] > 0 or stat["waits"] > 0
            found = line in recorded
            agree += expected == found
            if expected != found:
                differences.append([line, stat, recorded.get(line)])
            elif found and stat["waits"]:
                with_count += 1
                same = recorded[line]["count"] == stat["waits"]
                same_count += same
                if not same:
                    differences.append([line, stat, recorded[line]])
        result[name] = {"error": error, "differences": differences, "lines": recorded}
        if error or differences:
            print(name, error.strip().splitlines()[-1:] or "", *differences, sep="\n    ")
    print(
        f"cases: {len(result)} programs, {lines_ran} lines that ran, {agree} agree; "
        f"of {with_count} lines with waits, {same_count} have the same count"
    )
    return {"lines": lines_ran, "agree": agree, "with_count": with_count, "same_count": same_count, "cases": result}


def check_waits(rate: float) -> dict[str, Any]:
    """Recorded wait divided by the time that the sleeping GPU still needed."""
    device = torch.device("cuda")
    scalar, vector = torch.ones((), device=device), torch.rand(1000, device=device)
    matrix = torch.rand(64, 64, device=device) + 64 * torch.eye(64, device=device)
    host, big = torch.rand(1000), torch.rand(16_000_000)
    event, stream = torch.cuda.Event(), torch.cuda.current_stream()

    def event_wait() -> None:
        event.record()
        event.synchronize()

    def write() -> None:
        vector[0] = 1.0

    operations: dict[str, Callable[[], object]] = {
        "item": lambda: scalar.item(),
        "float": lambda: float(scalar),
        "bool": lambda: bool(scalar),
        "f-string": lambda: f"{scalar:.3f}",
        "print": lambda: repr(vector[:3]),
        "cpu": lambda: vector.cpu(),
        "tolist": lambda: vector.tolist(),
        "to cpu": lambda: vector.to("cpu"),
        "upload": lambda: host.to(device),
        "torch.tensor": lambda: torch.tensor([1.0, 2.0], device=device),
        "x[0] = 1.0": write,
        "x[mask]": lambda: vector[vector > 0.5],
        "nonzero": lambda: torch.nonzero(vector),
        "unique": lambda: torch.unique(vector),
        "bincount": lambda: torch.bincount(torch.ones(10, dtype=torch.long, device=device)),
        "inv": lambda: torch.linalg.inv(matrix),
        "synchronize": lambda: torch.cuda.synchronize(),
        "stream.synchronize": lambda: stream.synchronize(),
        "event.synchronize": event_wait,
        "pageable 64 MB": lambda: big.to(device, non_blocking=True),
        "two items": lambda: (scalar.item(), vector.sum().item()),
    }
    rows: dict[str, Any] = {}
    for name, operation in operations.items():
        for sleep in (5.0, 20.0):
            ratios = []
            operation()
            for _ in range(5):
                torch.cuda.synchronize()
                begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
                with syncwatch.watch() as report:
                    begin.record()
                    torch.cuda._sleep(int(sleep * rate))
                    end.record()
                    operation()
                torch.cuda.synchronize()
                ratios.append(report.wait_ms / begin.elapsed_time(end) if report.totals["untimed"] == 0 else 0.0)
            rows[f"{name} behind {sleep:g} ms"] = round(sorted(ratios)[2], 4)
    off = {name: ratio for name, ratio in rows.items() if not 0.95 <= ratio <= 1.05}
    untimed = [name for name, ratio in rows.items() if not ratio]
    print(f"waits: {len(rows)} measured, untimed {untimed}, outside 5%: {off}")
    return rows


def main() -> None:
    """See the head of this file."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out")
    parser.add_argument("--snippets", nargs=2)
    parser.add_argument("--cases")
    parser.add_argument("--waits", action="store_true")
    parser.add_argument("--sleep-ms", type=float, default=15.0)
    args = parser.parse_args()
    rate = cycles_per_ms()
    result: dict[str, Any] = {"torch": torch.__version__, "gpu": torch.cuda.get_device_name()}

    def keep() -> None:
        Path(args.out).write_text(json.dumps(result, indent=1))

    if args.waits:
        result["waits"] = check_waits(rate)
        keep()
    if args.snippets:
        result["snippets"] = check_snippets(*args.snippets, args.sleep_ms, rate)
        keep()
    if args.cases:
        result["cases"] = check_cases(args.cases)
        keep()


if __name__ == "__main__":
    main()

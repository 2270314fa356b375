"""Proves the rules on a real GPU: the marked lines of every program block the host, and no other line does.

    python tests/gpu/prove_rules.py OUT.json [--rules SW101 SW2 …] [--sleep-ms 4]

Before each line of a program the GPU is put to sleep; a line blocked the host if the sleep was over when the line had
ended. Two more witnesses are kept for each line: the waits that `torch.cuda._gpu_trace` reports and the warnings of the
sync debug mode. A program that seems to contradict its marks is measured again with a sleep ten times as long, and the
time of each line on an idle device taken off: slow work of the host is no wait. The exit status is 1 where a proof
fails.

It needs a GPU, PyTorch and msgspec; nothing of it is imported by the tests that run without a GPU.
"""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import io
import json
import os
import sys
import threading
import time
import traceback
import types
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2]))

import torch
import torch.cuda._gpu_trace as gpu_trace

from syncwatch import catalog
from syncwatch.model import Kind

LONGER = 10


@dataclasses.dataclass
class Line:
    """What was seen of one line: how often it ran, blocked, waited, was warned of, and its longest time in ms."""

    hits: int = 0
    blocked: int = 0
    waits: int = 0
    warnings: int = 0
    ms: float = 0.0

    @property
    def blocks(self) -> bool:
        """Blocks whenever it runs, and not just the first time (a program's set-up is not judged)."""
        return self.blocked >= 2 and self.blocked * 2 >= self.hits


class Witness:
    """Counts waits and warnings of the main program, not those that the measurement makes itself."""

    def __init__(self) -> None:
        self.waits = 0
        self.warnings = 0
        self.muted = False
        gpu_trace.register_callback_for_stream_synchronization(self._waited)
        gpu_trace.register_callback_for_device_synchronization(self._waited)
        gpu_trace.register_callback_for_event_synchronization(self._waited)
        torch._C._activate_gpu_trace()

    def _waited(self, *_: object) -> None:
        if not self.muted:
            self.waits += 1

    def warned(self, message: object, *_: object, **__: object) -> None:
        """Stands in for `warnings.showwarning`."""
        if "synchronizing CUDA operation" in str(message) and not self.muted:
            self.warnings += 1


class Tracer:
    """A trace function that puts the GPU to sleep before each line of one file, and looks at it after the line."""

    def __init__(
        self, path: str, witness: Witness, sleep_ms: float, cycles: int, idle: Mapping[int, float] | None
    ) -> None:
        self.lines: dict[int, Line] = {}
        self._idle = idle or {}
        self._path, self._witness, self._sleep_ms, self._cycles = path, witness, sleep_ms, cycles
        self._thread = threading.get_ident()
        self._current: int | None = None
        self._begin = 0.0

    def __call__(self, frame: types.FrameType, event: str, arg: object) -> Any:
        if frame.f_code.co_filename != self._path or threading.get_ident() != self._thread:
            return None
        self._close()
        if event == "return":
            caller = frame.f_back
            while caller is not None and caller.f_code.co_filename != self._path:
                caller = caller.f_back
            if caller is not None and frame.f_code.co_name != "<module>":
                self._open(caller.f_lineno)
        elif event in ("line", "call"):
            self._open(frame.f_lineno)
        return self

    def _open(self, line: int) -> None:
        self._witness.muted = True
        torch.cuda.synchronize()
        self._asleep = torch.cuda.Event()
        torch.cuda._sleep(self._cycles)
        self._asleep.record()
        self._witness.waits = self._witness.warnings = 0
        self._witness.muted = False
        self._current = line
        self._begin = time.perf_counter()

    def _close(self) -> None:
        if self._current is None:
            return
        spent = (time.perf_counter() - self._begin) * 1e3
        over = self._asleep.query()
        line = self.lines.setdefault(self._current, Line())
        line.hits += 1
        line.blocked += bool(over and spent - self._idle.get(self._current, 0.0) > self._sleep_ms * 0.5)
        line.waits += self._witness.waits
        line.warnings += self._witness.warnings
        line.ms = max(line.ms, round(spent, 3))
        self._current = None


class Bench:
    """Runs programs and measures their lines."""

    def __init__(self) -> None:
        torch.cuda._sleep(1000)
        torch.cuda.synchronize()
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        begin.record()
        torch.cuda._sleep(20_000_000)
        end.record()
        torch.cuda.synchronize()
        self.cycles_per_ms = 20_000_000 / begin.elapsed_time(end)
        self.witness = Witness()

    def run(self, path: Path, *, sleep_ms: float | None, idle: Mapping[int, float] | None = None) -> dict[int, Line]:
        """Runs a program as `__main__`, and measures its lines unless `sleep_ms` is None. Raises what it raises.

        idle: the milliseconds that a line takes by itself, as measured with `sleep_ms` 0; they are no wait.
        """
        code = compile(path.read_text(encoding="utf-8"), str(path), "exec")
        tracer = Tracer(str(path), self.witness, sleep_ms or 0.0, int(self.cycles_per_ms * (sleep_ms or 0)), idle)
        module = types.ModuleType("__main__")
        module.__file__ = str(path)
        before, environment = sys.modules["__main__"], dict(os.environ)
        sys.modules["__main__"] = module
        try:
            with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings():
                warnings.simplefilter("always")
                warnings.showwarning = self.witness.warned
                if sleep_ms is not None:
                    torch.cuda.set_sync_debug_mode("warn")
                    sys.settrace(tracer)
                exec(code, module.__dict__)
        finally:
            sys.settrace(None)
            torch.cuda.set_sync_debug_mode("default")
            sys.modules["__main__"] = before
            os.environ.clear()
            os.environ.update(environment)
            self._tidy()
        torch.cuda.synchronize()
        return tracer.lines

    @staticmethod
    def _tidy() -> None:
        """Ends what a program that failed may have left."""
        import torch.distributed as dist

        if dist.is_available() and dist.is_initialized():
            dist.destroy_process_group()
        torch.autograd.set_detect_anomaly(False)
        torch.cuda.set_stream(torch.cuda.default_stream())


def contradictions(block: catalog.Block, lines: dict[int, Line]) -> list[str]:
    """Where the measured lines differ from the marked ones, in words."""
    marked = {line for line, marks in block.marks.items() if any(blocks for _, blocks in marks)}
    measured = {line for line, seen in lines.items() if seen.blocks}
    # An event of an earlier line lies before the sleep in the queue: here PyTorch's own report of the wait counts.
    for line, kinds in block.kinds_by_line.items():
        seen = lines.get(line)
        if kinds == {Kind.EVENT_WAIT} and seen is not None and seen.waits >= seen.hits:
            measured.add(line)
    text = block.code.splitlines()
    wrong = [f"does not block, but is marked: {text[line - 1].strip()}" for line in sorted(marked - measured)]
    return wrong + [f"blocks, but is not marked: {text[line - 1].strip()}" for line in sorted(measured - marked)]


def prove(bench: Bench, block: catalog.Block, path: Path, sleep_ms: float) -> dict[str, Any]:
    """Measures one program. The result holds its lines and what contradicts its marks."""
    path.write_text(block.code, encoding="utf-8")
    try:
        bench.run(path, sleep_ms=None)  # loads kernels, fills caches
        torch.manual_seed(0)
        lines = bench.run(path, sleep_ms=sleep_ms)
        wrong = contradictions(block, lines)
        if wrong:
            idle = {number: line.ms for number, line in bench.run(path, sleep_ms=0.0).items()}
            lines = bench.run(path, sleep_ms=sleep_ms * LONGER, idle=idle)
            wrong = contradictions(block, lines)
    except Exception:
        return {"error": traceback.format_exc(limit=-3), "wrong": ["the program fails"], "lines": {}}
    return {"wrong": wrong, "lines": {str(number): dataclasses.asdict(line) for number, line in sorted(lines.items())}}


def main() -> int:
    """Proves the rules named on the command line, or all."""
    parser = argparse.ArgumentParser(description="Prove the rules on a GPU.")
    parser.add_argument("out", type=Path)
    parser.add_argument("--rules", nargs="*", default=["SW"], help="ids or beginnings of ids")
    parser.add_argument("--sleep-ms", type=float, default=4.0)
    args = parser.parse_args()
    bench = Bench()
    folder = args.out.parent / "programs"
    folder.mkdir(exist_ok=True, parents=True)
    results: dict[str, Any] = {}
    failed = 0
    for rule in catalog.load():
        if not rule.id.startswith(tuple(args.rules)) or rule.requires == "ranks":
            continue
        for number, block in enumerate(catalog.read_document(rule).blocks):
            name = f"{rule.id}-{block.tag}-{number}"
            begin = time.perf_counter()
            results[name] = result = prove(bench, block, folder / f"{name}.py", args.sleep_ms)
            failed += bool(result["wrong"])
            verdict = "; ".join(result["wrong"]) or "proved"
            print(f"{name} {rule.name}: {verdict} ({time.perf_counter() - begin:.1f} s)", flush=True)
            if "error" in result:
                print(result["error"], flush=True)
        args.out.write_text(
            json.dumps(
                {"device": torch.cuda.get_device_name(), "torch": torch.__version__, "programs": results}, indent=1
            )
        )
    print(f"{len(results) - failed} of {len(results)} programs proved")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

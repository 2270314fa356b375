"""The measuring script: a few minutes on a GPU, writes or extends measured.json."""

from __future__ import annotations

import argparse
import datetime
import importlib.util
import os
import platform
import sys
import time
import warnings
from collections.abc import Callable, Iterable
from pathlib import Path

import msgspec

from syncwatch.facts import store
from syncwatch.facts.measure.probes import Program
from syncwatch.facts.measure.survey import Survey, leaf_proofs, merged, progress, run_programs, run_samples
from syncwatch.facts.measure.witness import Bench, DeviceLost, NoGpu

SAMPLE_SLEEP_MS = 4.0  # there are thousands of samples


def main(argv: list[str] | None = None) -> int:
    """Exit status 0, or 2 where nothing can be measured."""
    parser = argparse.ArgumentParser(
        prog="python -m syncwatch.facts.measure",
        description="Measures on a GPU which of PyTorch's operations make the host wait.",
    )
    parser.add_argument(
        "--out", type=Path, default=store.PATH, help="the file to write or extend (default: the shipped one)"
    )
    parser.add_argument("--area", action="append", help="measure only these areas of the probes (repeatable)")
    parser.add_argument(
        "--programs",
        action="append",
        default=[],
        metavar="MODULE",
        help="a module of further programs: programs(device) yields (name, maker)",
    )
    parser.add_argument(
        "--sample-seconds", type=float, default=240.0, help="time for torch's own test inputs (0: none)"
    )
    parser.add_argument("--list", action="store_true", help="print the areas and programs, which needs no GPU, and end")
    parser.add_argument(
        "--evidence",
        type=Path,
        help="also write every measured call here, one a line; where the file exists, what it holds of other areas and "
        "of torch's test inputs is kept, so that a run of some areas completes an earlier one",
    )
    options = parser.parse_args(argv)
    # the databases of torch.testing read this at import: only the quick inputs
    os.environ.setdefault("PYTORCH_TEST_WITH_SLOW", "0")
    if importlib.util.find_spec("torch") is None:
        print("syncwatch: measuring needs PyTorch, which is not installed: pip install torch", file=sys.stderr)
        return 2
    warnings.simplefilter("ignore")
    if options.list:
        return _list(options.area)
    start = time.monotonic()
    try:
        bench = Bench()
    except NoGpu as error:
        print(f"syncwatch: {error}", file=sys.stderr)
        return 2
    survey = Survey()
    earlier = _earlier(options.evidence, survey)

    def save() -> None:
        _save(bench, survey, earlier, options)

    try:
        _measure(bench, survey, options, save)
    except DeviceLost as error:
        progress(f"syncwatch: the GPU was lost, what was measured so far is kept ({error})")
    except KeyboardInterrupt:
        progress("syncwatch: interrupted, what was measured so far is kept")
    save()
    for failure in survey.failures:
        progress(f"  not measured: {failure}")
    blocked = sum(count.blocked > 0 for count in survey.operations.values())
    progress(
        f"{len(survey.programs)} programs, {len(survey.samples)} samples, {len(survey.operations)} operations "
        f"({blocked} of them block), {len(survey.leaves)} leaves in {time.monotonic() - start:.0f} s: {options.out}"
    )
    return 0


def _list(areas: list[str] | None) -> int:
    from syncwatch.facts.measure import probes

    for area, programs in probes.areas("cuda"):
        if areas is None or area in areas:
            for name, _ in programs:
                print(f"{area}: {name}")
    return 0


def _measure(bench: Bench, survey: Survey, options: argparse.Namespace, save: Callable[[], None]) -> None:
    from syncwatch.facts.measure import probes

    device = "cuda"
    _measure_areas(bench, survey, options, probes.areas(device, probes.EARLY))
    for module in options.programs:
        found = importlib.import_module(module)
        run_programs(bench, survey, module.rpartition(".")[2], found.programs(device))
        progress(f"{module}: done")
    if options.sample_seconds > 0:
        _measure_samples(bench, survey, device, options.sample_seconds)
    save()  # what follows calls other libraries, which can hang
    _measure_areas(bench, survey, options, probes.areas(device, probes.LATE))


def _measure_areas(
    bench: Bench, survey: Survey, options: argparse.Namespace, areas: Iterable[tuple[str, list[Program]]]
) -> None:
    for area, programs in areas:
        if options.area is None or area in options.area:
            begin = time.monotonic()
            run_programs(bench, survey, area, programs)
            progress(f"{area}: {len(programs)} programs, {time.monotonic() - begin:.0f} s")


def _measure_samples(bench: Bench, survey: Survey, device: str, seconds: float) -> None:
    from syncwatch.facts.measure import samples

    if importlib.util.find_spec("expecttest") is None:
        progress("torch's own test inputs are left out: they need the package expecttest (pip install expecttest)")
        return
    sleep_ms, bench.sleep_ms = bench.sleep_ms, SAMPLE_SLEEP_MS
    samples.seed()
    begin = time.monotonic()
    for source in (samples.optimizers, samples.modules, samples.operators):
        run_samples(bench, survey, source(device), begin + seconds - time.monotonic())
        progress(f"{source.__name__}: {len(survey.samples)} samples so far, {time.monotonic() - begin:.0f} s")
    bench.sleep_ms = sleep_ms


def _earlier(path: Path | None, survey: Survey) -> list[store.Program]:
    """The evidence of an earlier run."""
    if path is None or not path.exists():
        return []
    rows = [msgspec.json.decode(line, type=store.Program) for line in path.read_bytes().splitlines() if line]
    survey.seen.update(msgspec.json.encode(row.calls) for row in rows if row.area == "samples")
    survey.sampled.update(row.name for row in rows if row.area == "samples")
    return rows


def _save(bench: Bench, survey: Survey, earlier: list[store.Program], options: argparse.Namespace) -> None:
    """Enters what was measured under its version; a partial run keeps the rest of an earlier one."""
    torch = bench.torch
    path: Path = options.out
    measured = store.read(path) if path.exists() else store.Measured(store.FORMAT, {})
    version = str(torch.__version__).partition("+")[0]
    whole = Survey([*survey.programs], [*survey.samples], [*survey.leaf_samples])
    whole.keep(earlier)
    if options.evidence is not None:
        options.evidence.write_bytes(b"\n".join(msgspec.json.encode(row) for row in whole.evidence) + b"\n")
    entry = store.Version(
        torch=str(torch.__version__),
        cuda=torch.version.cuda or "",
        gpu=torch.cuda.get_device_name(),
        date=datetime.date.today().isoformat(),
        python=platform.python_version(),
        operations=whole.operations,
        leaves=whole.leaves,
        raw_programs=store.raw([*whole.programs, *leaf_proofs(whole)]),
    )
    old = measured.versions.get(version)
    complete = bool(earlier) or (options.area is None and options.sample_seconds > 0)
    measured.versions[version] = entry if complete or old is None else merged(old, entry)
    store.write(measured, path)


if __name__ == "__main__":
    sys.exit(main())

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
from pathlib import Path

import msgspec

from syncwatch.facts import store
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
        "--sample-seconds", type=float, default=180.0, help="time for torch's own test inputs (0: none)"
    )
    parser.add_argument("--evidence", type=Path, help="also write every measured call here, one a line")
    options = parser.parse_args(argv)
    # the databases of torch.testing read this at import: only the quick inputs
    os.environ.setdefault("PYTORCH_TEST_WITH_SLOW", "0")
    if importlib.util.find_spec("torch") is None:
        print("syncwatch: measuring needs PyTorch, which is not installed: pip install torch", file=sys.stderr)
        return 2
    warnings.simplefilter("ignore")
    start = time.monotonic()
    try:
        bench = Bench()
    except NoGpu as error:
        print(f"syncwatch: {error}", file=sys.stderr)
        return 2
    survey = Survey()
    try:
        _measure(bench, survey, options)
    except DeviceLost as error:
        progress(f"syncwatch: the GPU was lost, what was measured so far is kept ({error})")
    except KeyboardInterrupt:
        progress("syncwatch: interrupted, what was measured so far is kept")
    if options.evidence is not None:
        rows = (*survey.programs, *survey.samples, *survey.leaf_samples)
        options.evidence.write_bytes(b"\n".join(msgspec.json.encode(row) for row in rows) + b"\n")
    _save(bench, survey, options.out, whole=options.area is None and options.sample_seconds > 0)
    for failure in survey.failures:
        progress(f"  not measured: {failure}")
    blocked = sum(count.blocked > 0 for count in survey.operations.values())
    progress(
        f"{len(survey.programs)} programs, {len(survey.samples)} samples, {len(survey.operations)} operations "
        f"({blocked} of them block), {len(survey.leaves)} leaves in {time.monotonic() - start:.0f} s: {options.out}"
    )
    return 0


def _measure(bench: Bench, survey: Survey, options: argparse.Namespace) -> None:
    from syncwatch.facts.measure import probes, samples

    device = "cuda"
    for area, programs in probes.areas(device):
        if options.area is None or area in options.area:
            begin = time.monotonic()
            run_programs(bench, survey, area, programs)
            progress(f"{area}: {len(programs)} programs, {time.monotonic() - begin:.0f} s")
    for module in options.programs:
        found = importlib.import_module(module)
        run_programs(bench, survey, module.rpartition(".")[2], found.programs(device))
        progress(f"{module}: done")
    if options.sample_seconds <= 0:
        return
    if importlib.util.find_spec("expecttest") is None:
        progress("torch's own test inputs are left out: they need the package expecttest (pip install expecttest)")
        return
    bench.sleep_ms = SAMPLE_SLEEP_MS
    samples.seed()
    end = time.monotonic() + options.sample_seconds
    for source in (samples.optimizers, samples.modules, samples.operators):
        run_samples(bench, survey, source(device), end - time.monotonic())
        progress(f"{source.__name__}: {len(survey.samples)} samples so far")


def _save(bench: Bench, survey: Survey, path: Path, *, whole: bool) -> None:
    """Enters what was measured under its version; a partial run keeps the rest of an earlier one."""
    torch = bench.torch
    measured = store.read(path) if path.exists() else store.Measured(store.FORMAT, {})
    version = str(torch.__version__).partition("+")[0]
    entry = store.Version(
        torch=str(torch.__version__),
        cuda=torch.version.cuda or "",
        gpu=torch.cuda.get_device_name(),
        date=datetime.date.today().isoformat(),
        python=platform.python_version(),
        operations=survey.operations,
        leaves=survey.leaves,
        raw_programs=store.raw([*survey.programs, *leaf_proofs(survey)]),
    )
    old = measured.versions.get(version)
    measured.versions[version] = entry if whole or old is None else merged(old, entry)
    store.write(measured, path)


if __name__ == "__main__":
    sys.exit(main())

"""Compares what one program did on a GPU with what the emulated device said of it, line by line.

    syncwatch run --device cuda -o gpu.json train.py        # on a machine with a GPU
    syncwatch run --device emulated -o emulated.json train.py
    python tests/gpu/compare.py gpu.json emulated.json

Lines whose counts differ are printed with both counts, then lines that agree in the count and are of another kind.
The exit status is 1 where a count differs. Several pairs may be given; the last line is the sum of all.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from syncwatch.model import Session, SiteCount, from_json


class Line(NamedTuple):
    """A place in a program."""

    path: str
    line: int


class Side(NamedTuple):
    """What one run did at a line: syncs by kind, and the operations that waited."""

    kinds: Counter[str]
    ops: frozenset[str]

    @property
    def count(self) -> int:
        return sum(self.kinds.values())


class Compared(NamedTuple):
    """A line of either run, on the GPU and emulated."""

    line: Line
    on_gpu: Side
    emulated: Side

    @property
    def count_differs(self) -> bool:
        return self.on_gpu.count != self.emulated.count

    @property
    def kind_differs(self) -> bool:
        return not self.count_differs and self.on_gpu.kinds != self.emulated.kinds

    def __str__(self) -> str:
        def shown(side: Side) -> str:
            return ", ".join(f"{count} {kind}" for kind, count in sorted(side.kinds.items())) or "none"

        ops = ", ".join(sorted(self.on_gpu.ops | self.emulated.ops))
        where = f"{self.line.path}:{self.line.line}"
        return f"{where}: {shown(self.on_gpu)} on the GPU; {shown(self.emulated)} emulated ({ops})"


def by_line(sites: Iterable[SiteCount]) -> dict[Line, Side]:
    """The syncs of each line, those that are allowed included."""
    found: dict[Line, Side] = {}
    for site in sites:
        place = Line(site.path, site.line)
        before = found.get(place, Side(Counter(), frozenset()))
        kinds = before.kinds + Counter({site.kind.value: site.count})
        found[place] = Side(kinds, before.ops | {site.op})
    return found


def compare(on_gpu: Session, emulated: Session) -> list[Compared]:
    """Every line that waited in either run, in order."""
    nothing = Side(Counter(), frozenset())
    real, predicted = by_line(on_gpu.sites), by_line(emulated.sites)
    return [
        Compared(line, real.get(line, nothing), predicted.get(line, nothing)) for line in sorted({*real, *predicted})
    ]


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sessions", nargs="+", type=Path, metavar="SESSION", help="of the GPU and emulated, in turn")
    args = parser.parse_args(arguments)
    if len(args.sessions) % 2:
        parser.error("give the sessions in pairs: the GPU's first")
    total = same = 0
    for gpu, emulated in zip(args.sessions[::2], args.sessions[1::2], strict=True):
        lines = compare(*(from_json(path.read_bytes(), Session, name=str(path)) for path in (gpu, emulated)))
        agreeing = sum(not line.count_differs for line in lines)
        total, same = total + len(lines), same + agreeing
        print(f"{gpu}: {agreeing} of {len(lines)} lines agree")
        for title, chosen in (
            ("other count", [line for line in lines if line.count_differs]),
            ("other kind", [line for line in lines if line.kind_differs]),
        ):
            for line in chosen:
                print(f"  {title}: {line}")
    print(f"{same} of {total} lines agree in their counts")
    return 0 if same == total else 1


if __name__ == "__main__":
    sys.exit(main())

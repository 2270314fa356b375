"""The table of the proof: what the static engine reports, what was recorded, what was measured; whether they agree.

A line is *measured* when it waited for a stream, an event or the device, or held the host at least twice; *steady* when
it held the host at least twice and on half of its runs: that is what a static finding claims. A line that held the host
once without waiting (the first collective sets NCCL up) is work of the host.

Two kinds of agreement take words, which stand beside the verdict. *Quiet*: a line waits steadily, and `check` knows it
but does not show it by default, since it runs rarely (a read every N steps, set-up in a loop), or since it depends on a
size that only the run has. *Felt elsewhere*: the line is reported because of what it sets, and the waits come later;
the proof is a launch that held the host then.
"""

from __future__ import annotations

import dataclasses
import hashlib
from pathlib import Path
from typing import Any

from syncwatch import catalog
from syncwatch.model import Certainty, Finding, Heat, Kind
from syncwatch.proof import digest

INTRODUCTION = """# Proofs

Written by `python -m tests.gpu.prove FOLDER`, which runs the programs of all rules, the samples, and a folder of field
cases on a real GPU: the lines that the static engine reports, the lines that the recorder counted, and the lines that
held the host behind a sleeping GPU. *Quiet* lines wait too; they run rarely, or depend on a size that only the run has,
and are shown with `--heat all --certainty possible` only.

"""


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
    """Adds the lines of the static findings, of the kinds that block: those shown, and those that are quiet."""
    import syncwatch
    from syncwatch.config import Config

    present = [folder for folder in folders if folder.is_dir()]
    shown = syncwatch.check(present).findings
    everything = syncwatch.check(present, Config(heat=tuple(Heat), certainty=Certainty.POSSIBLE)).findings
    by_file: dict[str, dict[str, Any]] = {row["path"]: row for row in rows.values()}
    for row in rows.values():
        row["static"] = _lines(shown, row, by_file)
        row["quiet"] = sorted((set(_lines(everything, row, by_file)) - set(row["static"])) & steady(row))


def _lines(findings: list[Finding], row: dict[str, Any], by_file: dict[str, dict[str, Any]]) -> list[int]:
    blocking = steady(row)
    found: set[int] = set()
    for finding in findings:
        if by_file.get(Path(finding.path).name) is not row:
            continue
        # whether a copy from pageable memory waits depends on its size and on the queue: it counts where it did
        if finding.kind.blocks or (finding.kind is Kind.PAGEABLE_ASYNC and finding.line in blocking):
            # a statement of several lines is measured at one of them
            inside = blocking & set(range(finding.line, (finding.end_line or finding.line) + 1))
            found |= inside or {finding.line}
    return sorted(found)


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
        if static - measured - felt_elsewhere(row):
            parts.append(f"static only: {listed(static - measured - felt_elsewhere(row))}")
        if steady(row) - static - set(row["quiet"]):
            parts.append(f"not in static: {listed(steady(row) - static - set(row['quiet']))}")
    launch = row.get("launch")
    if launch and held(launch) != bool(row["announced"]):
        parts.append("launches " + ("hold" if held(launch) else "do not hold") + " the host")
    return "; ".join(parts) or "agree"


def felt_elsewhere(row: dict[str, Any]) -> set[int]:
    """Lines marked as a hazard whose waits come later: a launch afterwards held the host."""
    launch = row.get("launch")
    return set(row["announced"]) if launch and held(launch) else set()


def held(launch: dict[str, float]) -> bool:
    """Whether the launch of a kernel came back only when the kernel had ended."""
    return launch["host_ms"] >= 0.5 * launch["kernel_ms"]


def remark(row: dict[str, Any]) -> str:
    """What an agreement rests on, where that is not the lines alone."""
    parts = []
    if row.get("quiet"):
        parts.append(f"quiet: {listed(row['quiet'])}")
    if felt_elsewhere(row):
        launch = row["launch"]
        parts.append(
            f"set at {listed(felt_elsewhere(row))}, felt at every launch: one of {launch['kernel_ms']:.0f} ms "
            f"held the host {launch['host_ms']:.0f} ms"
        )
    return f" ({'; '.join(parts)})" if parts else ""


def listed(lines: Any) -> str:
    """Line numbers in a cell of the table."""
    return " ".join(str(line) for line in sorted(int(line) for line in lines)) or "–"


def table(result: dict[str, Any]) -> str:
    """The whole page, as Markdown."""
    rows: dict[str, dict[str, Any]] = result["programs"]
    agreeing = sum(verdict(row) == "agree" for row in rows.values())
    lines = [
        INTRODUCTION,
        f"Measured on one {result['gpu']} with torch {result['torch']}, {result['date']}: "
        f"{agreeing} of {len(rows)} programs agree.\n",
    ]
    for title, chosen in (
        ("Rules", lambda name: not name.startswith(("sample ", "case "))),
        ("Samples", lambda name: name.startswith("sample ")),
        ("Field cases", lambda name: name.startswith("case ")),
    ):
        part = {name: row for name, row in rows.items() if chosen(name)}
        if part:
            agreeing = sum(verdict(row) == "agree" for row in part.values())
            lines.append(f"\n## {title}\n\n{agreeing} of {len(part)} agree.\n\n")
            lines.append("| program | static | recorded | measured | verdict |\n| --- | --- | --- | --- | --- |\n")
            lines += [_line(name, row) for name, row in part.items()]
    return "".join(lines)


def _line(name: str, row: dict[str, Any]) -> str:
    cells = [
        name.removeprefix("sample ").removeprefix("case "),
        listed(row["static"]) if "static" in row else "",
        listed(row.get("recorded", {})),
        listed(row.get("measured", {})),
        verdict(row) + remark(row),
    ]
    return f"| {' | '.join(cells)} |\n"


def by_rule(result: dict[str, Any]) -> dict[str, Any]:
    """What `syncwatch explain` tells of each rule: how many of its programs were proved, where and when.

    Kept as rules/proof.json. The digest ties it to the programs that were proved.
    """
    rules: dict[str, dict[str, Any]] = {}
    known = catalog.load()
    for name, row in result["programs"].items():
        found = known.find(name.split()[0])
        if found is None:
            continue
        counts = rules.setdefault(
            found.id, {"programs": 0, "proved": 0, "digest": digest(catalog.read_document(found))}
        )
        counts["programs"] += 1
        counts["proved"] += verdict(row) == "agree"
    return {"gpu": result["gpu"], "torch": result["torch"], "date": result["date"], "rules": rules}


def announced(block: catalog.Block) -> list[int]:
    """Lines marked as a hazard of a kind that blocks: what they set makes others wait."""
    return sorted(line for line, marks in block.marks.items() if any(kind.blocks and not here for kind, here in marks))


@dataclasses.dataclass
class Program:
    """A program to prove: a block of a rule, a sample, or a case."""

    name: str
    path: Path
    truth: dict[int, dict[str, int]] | None = None  # already measured
    argv: tuple[str, ...] = ()
    announced: tuple[int, ...] = ()
    sets_environment: bool = False  # that CUDA reads when it starts: looked at in a process of its own, too

    @property
    def digest(self) -> str:
        """Identifies what was run."""
        return hashlib.sha256(self.path.read_bytes()).hexdigest()[:16]

"""The baseline: a file of findings that are known and stay silent.

An entry names a finding by what does not change when lines move: path, rule, function, the source line without its
white space, and which of several alike it is. Paths are relative to the baseline's folder.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path, PurePosixPath
from typing import NamedTuple

import msgspec

from syncwatch.model import SCHEMA_VERSION, BrokenFile, Finding, from_json, to_json

DEFAULT_NAME = "syncwatch-baseline.json"


class Key(NamedTuple):
    """What names a finding. `source` is the line without white space; `occurrence` counts from 1 among those that are
    alike."""

    path: str
    rule: str
    function: str
    source: str
    occurrence: int

    def digest(self) -> str:
        """A short name for reports: 32 hexadecimal digits."""
        return hashlib.sha256("\0".join(map(str, self)).encode()).hexdigest()[:32]


class Entry(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A known finding. `source` is the line as it reads, `reason` is for people: why it may stay."""

    path: str
    rule: str
    function: str
    source: str
    occurrence: int = 1
    reason: str = ""

    @property
    def key(self) -> Key:
        return Key(self.path, self.rule, self.function, "".join(self.source.split()), self.occurrence)


class Baseline(msgspec.Struct, frozen=True, kw_only=True):
    """The file's content."""

    entries: tuple[Entry, ...]
    schema_version: int = SCHEMA_VERSION


def read(file: Path) -> Baseline:
    """Reads a baseline. Raises BrokenFile, naming the file, where it is missing or not a baseline."""
    try:
        data = file.read_bytes()
    except FileNotFoundError:
        raise BrokenFile(f"{file}: there is no such baseline; make one with --write-baseline") from None
    except OSError as error:
        raise BrokenFile(f"{file}: cannot be read ({error.strerror or error})") from None
    remedy = "it is no baseline, or a broken one: name another, or remove it and write it anew with --write-baseline"
    return from_json(data, Baseline, name=str(file), remedy=remedy)


def write(file: Path, entries: Iterable[Entry]) -> None:
    """Writes a baseline, sorted, so that its changes read well. Raises BrokenFile where the file cannot be written."""
    ordered = tuple(sorted(entries, key=lambda entry: entry.key))
    try:
        file.write_bytes(to_json(Baseline(entries=ordered)))
    except OSError as error:
        raise BrokenFile(f"{file}: cannot be written ({error.strerror or error})") from None


def entries(findings: Sequence[Finding], root: Path, source: Callable[[str, int], str | None]) -> list[Entry]:
    """The entry of each finding, with paths relative to `root`; `source` gives a line of a file (from 1)."""
    seen: dict[Key, int] = defaultdict(int)
    result = []
    for finding in findings:
        line = " ".join((source(finding.path, finding.line) or "").split())
        entry = Entry(path=relative(finding.path, root), rule=finding.rule, function=finding.function, source=line)
        seen[entry.key] += 1
        result.append(msgspec.structs.replace(entry, occurrence=seen[entry.key]))
    return result


def relative(path: str, root: Path) -> str:
    """`path` relative to `root`, with forward slashes, also where it lies outside."""
    import os

    try:
        return PurePosixPath(Path(os.path.relpath(os.path.abspath(path), root)).as_posix()).as_posix()
    except ValueError:  # another drive
        return Path(path).as_posix()


def stale(
    baseline: Baseline,
    present: Iterable[Key],
    checked: Iterable[str],
    judged: Callable[[str], bool],
    root: Path,
) -> list[Entry]:
    """The entries that no finding has any longer.

    Only entries whose rule was in use count, and whose file was checked (`checked`, relative to `root`) or is gone.
    """
    there, files = set(present), set(checked)
    return [
        entry
        for entry in baseline.entries
        if entry.key not in there and judged(entry.rule) and (entry.path in files or not (root / entry.path).exists())
    ]


def updated(baseline: Baseline | None, found: Iterable[Entry], gone: Iterable[Entry]) -> list[Entry]:
    """The entries of the new file: what was found, and what is known of files and rules that were not looked at.

    Reasons stay with their entries.
    """
    old = {entry.key: entry for entry in (baseline.entries if baseline else ())}
    new = {
        entry.key: msgspec.structs.replace(entry, reason=old[entry.key].reason) if entry.key in old else entry
        for entry in found
    }
    removed = {entry.key for entry in gone}
    return [*new.values(), *(entry for key, entry in old.items() if key not in new and key not in removed)]

"""The measured side of the table: `measured.json`, versions of torch side by side.

The file is read only where numbers are asked for.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import msgspec

from syncwatch.model import BrokenFile

FORMAT = 1
PATH = Path(__file__).with_name("measured.json")


class Count(msgspec.Struct, array_like=True, frozen=True):
    """What was measured of one operation: calls with different arguments, how many blocked, waits of those that did,
    and how many of the blocked ones the sync debug mode did not report."""

    calls: int
    blocked: int
    fewest_waits: int = 0
    most_waits: int = 0
    unreported: int = 0

    @property
    def verdict(self) -> str:
        """ "always", "sometimes" or "never"."""
        if not self.blocked:
            return "never"
        return "always" if self.blocked == self.calls else "sometimes"


class Program(msgspec.Struct, array_like=True, frozen=True):
    """One measured program: the calls that it made, as `codec.plain_call` writes them, and what the witnesses said."""

    area: str
    name: str
    calls: list[Any]
    blocked: bool
    waits: int
    warnings: int
    cupti: dict[str, int] = msgspec.field(default_factory=dict)


class Version(msgspec.Struct, omit_defaults=True):
    """Everything measured with one version of torch on one GPU. `date` is ISO 8601."""

    torch: str
    cuda: str
    gpu: str
    date: str
    driver: str = ""
    python: str = ""
    operations: dict[str, Count] = msgspec.field(default_factory=dict)
    leaves: dict[str, Count] = msgspec.field(default_factory=dict)
    raw_programs: msgspec.Raw = msgspec.field(default=msgspec.Raw(b"[]"), name="programs")

    @property
    def programs(self) -> list[Program]:
        """The measured programs, read when they are asked for. Raises BrokenFile."""
        try:
            return msgspec.json.decode(self.raw_programs, type=list[Program])
        except msgspec.DecodeError as error:
            raise BrokenFile(f"measured facts of torch {self.torch}: broken programs ({error})") from None


def raw(programs: list[Program]) -> msgspec.Raw:
    """What `Version.raw_programs` holds."""
    return msgspec.Raw(msgspec.json.encode(programs))


class Measured(msgspec.Struct):
    format: int
    versions: dict[str, Version]


class _Format(msgspec.Struct):
    format: int


def read(path: Path = PATH) -> Measured:
    """Raises BrokenFile, which names the file and the remedy, where it is missing, broken or foreign."""
    try:
        data = path.read_bytes()
    except OSError as error:
        remedy = "reinstall syncwatch" if path == PATH else "give a file that python -m syncwatch.facts.measure wrote"
        raise BrokenFile(f"{path}: the measured facts cannot be read ({error.strerror}); {remedy}") from None
    try:
        found = msgspec.json.decode(data, type=_Format).format
        if found != FORMAT:
            raise BrokenFile(
                f"{path}: measured facts of format {found}, this syncwatch reads {FORMAT}; "
                "measure again with python -m syncwatch.facts.measure"
            )
        return msgspec.json.decode(data, type=Measured)
    except msgspec.DecodeError as error:
        raise BrokenFile(
            f"{path}: no measured facts ({error}); reinstall syncwatch, or write the file with "
            "python -m syncwatch.facts.measure"
        ) from None


def write(measured: Measured, path: Path = PATH) -> None:
    """One program and one operation a line, so that differences can be read."""
    encode = msgspec.json.encode
    lines = [f'{{"format":{measured.format},"versions":{{']
    for position, (name, version) in enumerate(sorted(measured.versions.items())):
        head = {key: value for key, value in msgspec.structs.asdict(version).items() if isinstance(value, str)}
        lines.append(f"{',' if position else ''}{encode(name).decode()}:{encode(head).decode()[:-1]}")
        for key in ("operations", "leaves"):
            rows = [
                f"{encode(op).decode()}:{encode(row).decode()}" for op, row in sorted(getattr(version, key).items())
            ]
            lines.append(f',"{key}":{{\n' + ",\n".join(rows) + "\n}")
        programs = [encode(program).decode() for program in version.programs]
        lines.append(',"programs":[\n' + ",\n".join(programs) + "\n]}")
    path.write_text("\n".join(lines) + "\n}}\n", encoding="utf-8")


@cache
def shipped() -> Measured:
    """The file that ships with syncwatch. Raises BrokenFile."""
    return read(PATH)


class _Names(msgspec.Struct):
    operations: dict[str, msgspec.Raw]
    leaves: dict[str, msgspec.Raw]


class _Index(msgspec.Struct):
    versions: dict[str, _Names]


@cache
def _measured_names() -> dict[str, tuple[str, ...]]:
    """Operation → versions: the numbers and the programs stay unread."""
    try:
        index = msgspec.json.decode(PATH.read_bytes(), type=_Index)
    except (OSError, msgspec.DecodeError):
        shipped()  # says what is wrong
        raise
    found: dict[str, list[str]] = {}
    for name, version in sorted(index.versions.items()):
        for op in (*version.operations, *version.leaves):
            found.setdefault(op, []).append(name)
    return {op: tuple(versions) for op, versions in found.items()}


@cache
def measured_on(names: tuple[str, ...]) -> tuple[str, ...]:
    """The versions of torch on which an operation was measured, under any of its names. Raises BrokenFile."""
    known = _measured_names()
    return tuple(sorted({version for name in names for version in known.get(name, ())}))

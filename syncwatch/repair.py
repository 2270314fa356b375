"""Repairs of source files: edits of single lines, applied to the bytes on disk so that all else stays as it was."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from syncwatch.model import BrokenFile

_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n|\Z)")


@dataclass(frozen=True)
class Edit:
    """Replaces characters of one line. Columns count from 1, `end_column` is exclusive.

    `old` is the text that must stand there, so that a file that changed in the meantime is left alone. A line of which
    nothing but white space is left goes altogether.
    """

    path: str
    line: int
    column: int
    end_column: int
    old: str
    new: str


@dataclass(frozen=True)
class Repaired:
    """A file before and after its edits; `applied` counts the edits."""

    path: str
    before: str
    after: str
    encoding: str
    applied: int

    def diff(self) -> str:
        """The change as a unified diff."""
        import difflib

        lines = difflib.unified_diff(
            self.before.splitlines(keepends=True),
            self.after.splitlines(keepends=True),
            fromfile=self.path,
            tofile=self.path,
        )
        return "".join(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines)

    def write(self) -> None:
        """Puts the file in place at once, with its old mode. Raises BrokenFile where it cannot be written."""
        import tempfile

        try:
            mode = os.stat(self.path).st_mode
            real = os.path.realpath(self.path)
            handle, temporary = tempfile.mkstemp(dir=os.path.dirname(real), prefix=".syncwatch-")
            try:
                with os.fdopen(handle, "wb") as file:
                    file.write(self.after.encode(self.encoding))
                os.chmod(temporary, mode)
                os.replace(temporary, real)
            except BaseException:
                os.unlink(temporary)
                raise
        except OSError as error:
            raise BrokenFile(f"{self.path}: cannot be repaired ({error.strerror or error})") from None


def repair(edits: Iterable[Edit]) -> list[Repaired]:
    """Applies edits in memory, file by file; edits that no longer fit are left out."""
    by_path: dict[str, list[Edit]] = {}
    for edit in dict.fromkeys(edits):
        by_path.setdefault(edit.path, []).append(edit)
    return [done for path, each in sorted(by_path.items()) if (done := _repair_file(path, each)) is not None]


def _repair_file(path: str, edits: Sequence[Edit]) -> Repaired | None:
    import io
    import tokenize

    try:
        with open(path, "rb") as file:
            data = file.read()
        encoding = tokenize.detect_encoding(io.BytesIO(data).readline)[0]
        before = data.decode(encoding)
    except (OSError, SyntaxError, UnicodeDecodeError):
        return None
    after, applied = edited(before, edits)
    return Repaired(path, before, after, encoding, applied) if applied else None


def edited(text: str, edits: Iterable[Edit]) -> tuple[str, int]:
    """The text with its edits, and how many fitted."""
    lines = [match[0] for match in _LINE.finditer(text)]
    applied = 0
    last_first = sorted(edits, key=lambda edit: (edit.line, edit.column), reverse=True)
    for edit in last_first:
        if not 0 < edit.line <= len(lines):
            continue
        line = lines[edit.line - 1]
        start, end = edit.column - 1, edit.end_column - 1
        if line[start:end] != edit.old:
            continue
        body, end_of_line = _split(line[:start] + edit.new + line[end:])
        if not edit.new:
            body = body.rstrip()
        lines[edit.line - 1] = body + end_of_line if body.strip() else ""
        applied += 1
    return "".join(lines), applied


def _split(line: str) -> tuple[str, str]:
    body = line.rstrip("\r\n")
    return body, line[len(body) :]


def total(repaired: Iterable[Repaired]) -> int:
    """How many edits were applied."""
    return sum(each.applied for each in repaired)

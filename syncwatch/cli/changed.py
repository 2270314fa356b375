"""Which lines changed since a git revision."""

from __future__ import annotations

import os
import re
import subprocess
from collections import defaultdict
from collections.abc import Callable

from syncwatch.cli import UsageError
from syncwatch.model import Finding

_HUNK = re.compile(r"@@ -\S+ \+(\d+)(?:,(\d+))? @@")
_ESCAPE = re.compile(r"\\([0-7]{3}|.)")
_LETTERS = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "f": "\f", "v": "\v"}


def changed_lines(revision: str) -> Callable[[Finding], bool]:
    """A test that says whether a finding touches a line that differs from `revision`, or lies in an untracked file.

    Raises UsageError where git is missing, the current folder is in no repository, or the revision is unknown.
    """
    top = _git("rev-parse", "--show-toplevel", trouble="--diff-only needs a git repository").strip()
    commit = _git(
        "rev-parse",
        "--verify",
        "--quiet",
        "--end-of-options",
        f"{revision}^{{commit}}",
        trouble=f"--diff-only: {revision!r} is no revision of this repository",
    ).strip()
    diff = _git(
        "-c", "core.quotePath=off", "-C", top, "diff", "--unified=0", "--no-color", "--no-ext-diff", "--no-prefix",
        "--find-renames", commit, "--", trouble=f"--diff-only: git cannot compare with {revision!r}",
    )  # fmt: skip
    lines = parse(diff)
    untracked = _git("-C", top, "ls-files", "--others", "--exclude-standard", "-z", trouble="git cannot list files")
    new = set(untracked.split("\0")) - {""}
    real_top = os.path.realpath(top)

    def touches(finding: Finding) -> bool:
        path = os.path.relpath(os.path.realpath(finding.path), real_top).replace(os.sep, "/")
        if path in new:
            return True
        last = max(finding.end_line, finding.line)
        return any(start <= last and finding.line <= end for start, end in lines.get(path, ()))

    return touches


def parse(diff: str) -> dict[str, list[tuple[int, int]]]:
    """The ranges of lines (first, last) that a unified diff without context adds or changes, by path."""
    ranges: dict[str, list[tuple[int, int]]] = defaultdict(list)
    path: str | None = None
    in_header = False
    for line in diff.split("\n"):
        if line.startswith("diff --git "):
            in_header, path = True, None
        elif in_header and line.startswith("+++ "):
            path = _name(line[4:])
        elif hunk := _HUNK.match(line):
            in_header = False
            first, count = int(hunk[1]), int(hunk[2] or 1)
            if path is not None and count:
                ranges[path].append((first, first + count - 1))
    return dict(ranges)


def _name(shown: str) -> str | None:
    """A file's name as git shows it: quoted where it holds odd characters; None for /dev/null."""
    shown = shown.rstrip("\t")
    if shown == "/dev/null":
        return None
    if not shown.startswith('"'):
        return shown
    raw = _ESCAPE.sub(
        lambda match: chr(int(match[1], 8)) if len(match[1]) == 3 else _LETTERS.get(match[1], match[1]), shown[1:-1]
    )
    try:  # octal escapes are bytes
        return raw.encode("latin-1").decode("utf-8")
    except UnicodeError:
        return raw


def _git(*arguments: str, trouble: str) -> str:
    try:
        done = subprocess.run(["git", *arguments], capture_output=True, check=True)
    except FileNotFoundError:
        raise UsageError("--diff-only needs git, which is not installed (or not on the PATH)") from None
    except subprocess.CalledProcessError as error:
        said = error.stderr.decode("utf-8", "replace").strip().splitlines()
        raise UsageError(f"{trouble}{f' ({said[-1]})' if said else ''}") from None
    return done.stdout.decode("utf-8", "surrogateescape")

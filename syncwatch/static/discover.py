"""Which files to check: folders are searched, what git ignores and what is excluded is left out."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from syncwatch.model import Problem
from syncwatch.static.source import display, reason

if TYPE_CHECKING:
    import pathspec

SUFFIXES = (".py", ".pyw", ".ipynb")


class Found(NamedTuple):
    """Files in a stable order, without doubles, and what could not be searched."""

    files: list[str]
    problems: list[Problem]


class _Rules:
    """The patterns of one .gitignore, and the absolute folder that they refer to."""

    def __init__(self, base: str, patterns: Iterable[str]) -> None:
        self.base = base
        self.patterns = [line for line in patterns if line.strip() and not line.startswith("#")]
        self._spec: pathspec.GitIgnoreSpec | None = None

    def at(self, base: str) -> _Rules:
        """The same patterns for another folder."""
        return _Rules(base, self.patterns)

    def ignores(self, relative: str) -> bool | None:
        """Whether a path (relative to the folder) is left out, None where no pattern speaks of it."""
        if not self.patterns:
            return None
        if self._spec is None:
            self._spec = _spec(self.patterns)
        return self._spec.check_file(relative).include


def discover(
    paths: Iterable[str | os.PathLike[str]],
    *,
    exclude: Sequence[str] = (),
    extend_exclude: Sequence[str] = (),
    respect_gitignore: bool = True,
    root: str | os.PathLike[str] = ".",
    force_exclude: bool = False,
) -> Found:
    """The Python files and notebooks at `paths`, folders searched in depth.

    A file that is named itself is taken whatever its suffix and, without `force_exclude`, whatever the patterns say.
    `exclude` and `extend_exclude` are gitignore patterns relative to `root`. Links to folders are not followed, so
    that loops of links end. Folders that cannot be listed and paths that do not exist become problems.
    """
    base = os.path.abspath(root)
    search = _Search(_Rules(base, [*exclude, *extend_exclude]), respect_gitignore)
    for path in paths:
        name = os.fspath(path)
        if force_exclude and search.excludes(name):
            continue
        if os.path.isdir(name):
            search.folder(name)
        elif os.path.isfile(name):
            search.add(name)
        elif os.path.exists(name):
            search.problem(name, "is neither a file nor a folder; what a pipe gives can be checked with `-`")
        else:
            search.problem(
                name, "no such file or folder" if name else "an empty path names nothing; write . for this folder"
            )
    return Found(search.files, search.problems)


class _Search:
    def __init__(self, excluded: _Rules, respect_gitignore: bool) -> None:
        self.files: list[str] = []
        self.problems: list[Problem] = []
        self._excluded = excluded
        self._respect_gitignore = respect_gitignore
        self._seen: set[str] = set()

    def problem(self, path: str, message: str) -> None:
        self.problems.append(Problem(path=display(path), line=0, message=message))

    def add(self, path: str) -> None:
        shown = display(path)
        real = os.path.realpath(path)
        if real not in self._seen:
            self._seen.add(real)
            self.files.append(shown)

    def excludes(self, path: str) -> bool:
        """Whether the patterns leave out a path that was named."""
        absolute = os.path.abspath(path)
        is_folder = os.path.isdir(absolute)
        ignoring = _rules_above(os.path.dirname(absolute), itself=True) if self._respect_gitignore else []
        return _ignored(absolute, is_folder, [self._excluded]) or _ignored(absolute, is_folder, ignoring)

    def folder(self, path: str) -> None:
        """Searches a folder that was named: the patterns judge what is in it, not the folder itself."""
        absolute = os.path.abspath(path)
        excluded = self._excluded
        if _ignored(absolute, True, [excluded]):
            excluded = excluded.at(absolute)
        ignoring = _rules_above(absolute) if self._respect_gitignore else []
        if _ignored(absolute, True, ignoring):
            ignoring = []
        self._walk(absolute, excluded, ignoring)

    def _walk(self, folder: str, excluded: _Rules, ignoring: list[_Rules]) -> None:
        waiting = [(folder, ignoring)]
        while waiting:
            folder, ignoring = waiting.pop()
            try:
                with os.scandir(folder) as listing:
                    entries = sorted(listing, key=lambda entry: entry.name)
            except OSError as error:
                self.problem(folder, f"cannot be searched ({reason(error)})")
                continue
            if self._respect_gitignore and any(entry.name == ".gitignore" for entry in entries):
                ignoring = [*ignoring, *self._rules_of(folder)]
            inner = []
            for entry in entries:
                is_folder = entry.is_dir(follow_symlinks=False)
                if not is_folder and not (entry.name.endswith(SUFFIXES) and _is_file(entry)):
                    continue
                if _ignored(entry.path, is_folder, [excluded]) or _ignored(entry.path, is_folder, ignoring):
                    continue
                if is_folder:
                    inner.append((entry.path, ignoring))
                else:
                    self.add(entry.path)
            waiting.extend(reversed(inner))

    def _rules_of(self, folder: str) -> list[_Rules]:
        try:
            return _read_rules(folder, os.path.join(folder, ".gitignore"))
        except OSError as error:
            self.problem(os.path.join(folder, ".gitignore"), f"cannot be read ({reason(error)})")
            return []


def _spec(patterns: list[str]) -> pathspec.GitIgnoreSpec:
    """The patterns, without those that git itself passes over (a lone `/`, an unfinished range)."""
    import pathspec  # slow to import, and not needed for files that were named

    try:
        return pathspec.GitIgnoreSpec.from_lines(patterns)
    except ValueError:
        usable = []
        for pattern in patterns:
            with contextlib.suppress(ValueError):
                pathspec.GitIgnoreSpec.from_lines([pattern])
                usable.append(pattern)
        return pathspec.GitIgnoreSpec.from_lines(usable)


def _is_file(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_file()
    except OSError:  # a loop of links
        return False


def _ignored(path: str, is_folder: bool, rules: list[_Rules]) -> bool:
    """Whether patterns leave out a path; those of the innermost .gitignore decide first."""
    for each in reversed(rules):
        prefix = each.base if each.base.endswith(os.sep) else each.base + os.sep
        if not path.startswith(prefix):
            continue
        relative = path[len(prefix) :] + (os.sep if is_folder else "")
        ignored = each.ignores(relative)
        if ignored is not None:
            return ignored
    return False


def _rules_above(folder: str, itself: bool = False) -> list[_Rules]:
    """The rules of the .gitignore files above a folder, up to the top of its git repository, outermost first.

    `itself`: those in the folder too.
    """
    above = _quiet_rules(folder, ".gitignore") if itself else []
    inside = folder
    while not os.path.exists(os.path.join(inside, ".git")):
        parent = os.path.dirname(inside)
        if parent == inside:
            return []  # in no repository
        inside = parent
        above = [*_quiet_rules(inside, ".gitignore"), *above]
    return [*_quiet_rules(inside, os.path.join(".git", "info", "exclude")), *above]


def _quiet_rules(folder: str, name: str) -> list[_Rules]:
    try:
        return _read_rules(folder, os.path.join(folder, name))
    except OSError:
        return []


def _read_rules(base: str, file: str) -> list[_Rules]:
    with open(file, encoding="utf-8", errors="replace") as lines:
        return [_Rules(base, [line.rstrip("\n") for line in lines])]

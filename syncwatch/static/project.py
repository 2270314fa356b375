"""A project: the files to check, the files that they import, and how names lead from one to another."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from syncwatch.static import ir
from syncwatch.static.errors import SyntaxProblem
from syncwatch.static.imports import ImportFinder
from syncwatch.static.notebook import SUFFIX, Notebook, broken_cells, read_notebook
from syncwatch.static.options import Options
from syncwatch.static.source import decode, names_torch, read


class Loaded(NamedTuple):
    """A file as far as it could be read: its form (None where it could not), and what was wrong with it."""

    module: ir.Module | None
    problems: tuple[SyntaxProblem, ...]


class Project:
    """The files to check and those that they import.

    files: the files to check, as displayed paths. `contents` gives the bytes of files that are not to be read
    from disk (standard input). `shared` is for inference: what it learnt once and needs for every root.
    """

    def __init__(
        self, files: Iterable[str], options: Options | None = None, contents: Mapping[str, bytes] | None = None
    ) -> None:
        self.files: tuple[str, ...] = tuple(files)
        self.options = options or Options()
        self.shared: dict[Any, Any] = {}
        self._contents: dict[str, bytes] = dict(contents or {})
        self._loaded: dict[str, Loaded] = {}
        self._notebooks: dict[str, Notebook] = {}
        self._digests: dict[str, str] = {}
        self._finder = ImportFinder(self.options.root)
        for path in self.files:
            self._finder.add_root_of(path)

    def module(self, path: str) -> ir.Module | None:
        """The intermediate form of a file, read on first use; None where it cannot be read (see `problems`)."""
        return self.load(path).module

    def find(self, dotted: str, importer: str) -> str | None:
        """The file that `dotted` (absolute, or relative with leading dots) means in the file `importer`.

        None where the project has no such module: it is of the standard library, installed, or not there. Files that
        were not named for the check are found too.
        """
        return self._finder.find(dotted, importer)

    def name_of(self, path: str) -> str:
        """The dotted name under which a file is imported."""
        return self._finder.name_of(path)

    def wanted(self, path: str) -> bool:
        """Whether a file needs a look of its own: its text names torch, or a library that wraps it.

        A file that does not is still read when another one imports it. True for a file that cannot be read, so that
        the failure is reported.
        """
        try:
            return names_torch(self.content(path))
        except SyntaxProblem:
            return True

    def content(self, path: str) -> bytes:
        """The bytes of a file. Raises SyntaxProblem where it cannot be read."""
        known = self._contents.get(path)
        return read(path) if known is None else known

    def digest(self, path: str) -> str:
        """A short name for a file's content; "" where it cannot be read."""
        if path not in self._digests:
            try:
                self._digests[path] = content_digest(self.content(path))
            except SyntaxProblem:
                self._digests[path] = ""
        return self._digests[path]

    def problems(self, path: str) -> tuple[SyntaxProblem, ...]:
        """What was wrong with a file, after `module` was asked for."""
        return self.load(path).problems

    def notebook(self, path: str) -> Notebook | None:
        """The cells of a notebook; None for any other file and for notebooks that cannot be read."""
        if not path.endswith(SUFFIX):
            return None
        if path not in self._notebooks:
            try:
                self._notebooks[path] = read_notebook(self.content(path))
            except SyntaxProblem:
                return None
        return self._notebooks[path]

    def text(self, path: str) -> str:
        """The text whose lines and columns positions refer to; "" where the file cannot be read."""
        try:
            if path.endswith(SUFFIX):
                notebook = self.notebook(path)
                return "" if notebook is None else notebook.source
            return decode(self.content(path))
        except SyntaxProblem:
            return ""

    def load(self, path: str) -> Loaded:
        """The form of a file and its problems."""
        known = self._loaded.get(path)
        if known is None:
            known = self._loaded[path] = self._load(path)
        return known

    def _load(self, path: str) -> Loaded:
        try:
            data = self.content(path)
            return lower_notebook(data, path) if path.endswith(SUFFIX) else lower_file(data, path)
        except SyntaxProblem as problem:
            return Loaded(None, (problem,))


def lower_file(data: bytes, path: str) -> Loaded:
    """Lowers the bytes of a Python file. Raises SyntaxProblem."""
    from syncwatch.static.lower import lower

    return Loaded(lower(decode(data), path), ())


def lower_notebook(data: bytes, path: str) -> Loaded:
    """Lowers the bytes of a notebook; cells that are no Python are left out and reported. Raises SyntaxProblem."""
    from syncwatch.static.lower import lower

    notebook = read_notebook(data)
    try:
        return Loaded(lower(notebook.source, path), ())
    except SyntaxProblem as whole:
        broken = broken_cells(notebook)
        if not broken:
            return Loaded(None, (whole,))
        rest = notebook.without(set(broken))
        return Loaded(lower(rest.source, path), tuple(broken.values()))


def content_digest(data: bytes) -> str:
    """A short name for a file's content."""
    return hashlib.blake2b(data, digest_size=16).hexdigest()

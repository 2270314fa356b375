"""A project: the files to check, the files that they import, and how names lead from one to another."""

from __future__ import annotations

import ast
import hashlib
import os
import re
import warnings
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from syncwatch.static import ir
from syncwatch.static.cache import Cache, Face, ModuleRecord
from syncwatch.static.errors import SyntaxProblem
from syncwatch.static.imports import ImportFinder
from syncwatch.static.notebook import SUFFIX, Notebook, broken_cells, read_notebook
from syncwatch.static.options import Options
from syncwatch.static.outline import Outline, outline_of
from syncwatch.static.source import decode, display, names_torch, read

# Files of tests: what waits there hurts nobody, and nothing calls their functions. What they call is not hot for it.
_TESTS = re.compile(r"(^|/)((tests|testing|test_utils)/.*|test_[^/]*|[^/]*_test|conftest)\.py$")


class Loaded(NamedTuple):
    """A file as far as it could be read: its form (None where it could not), and what was wrong with it."""

    module: ir.Module | None
    problems: tuple[SyntaxProblem, ...]


class Project:
    """The files to check and those that they import.

    files: the files to check, as displayed paths. `contents` gives the bytes of files that are not to be read
    from disk (standard input). `shared` is for inference: what it learnt once and needs for every root. `faces` and
    `finds` say what was read and which imports were resolved, for the cache.
    """

    def __init__(
        self,
        files: Iterable[str],
        options: Options | None = None,
        contents: Mapping[str, bytes] | None = None,
        cache: Cache | None = None,
    ) -> None:
        self.files: tuple[str, ...] = tuple(files)
        self.options = options or Options()
        self.contents: dict[str, bytes] = dict(contents or {})
        self.cache = cache
        self.shared: dict[Any, Any] = {}
        self.faces: dict[str, Face] = {}
        self.finds: dict[str, dict[str, str]] = {}
        self._root = os.path.abspath(self.options.root)
        self._top: str | None = None  # the folder that holds all files to check
        self._loaded: dict[str, Loaded] = {}
        self._notebooks: dict[str, Notebook] = {}
        self._keys: dict[str, str] = {}
        self._paths: dict[str, str] = {}
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
        asked = self.finds.get(importer)
        if asked is None:
            asked = self.finds[importer] = {}
        known = asked.get(dotted)
        if known is None:
            known = asked[dotted] = self._finder.find(dotted, importer) or ""
        return known or None

    def name_of(self, path: str) -> str:
        """The dotted name under which a file is imported."""
        return self._finder.name_of(path)

    def content(self, path: str) -> bytes:
        """The bytes of a file. Raises SyntaxProblem where it cannot be read."""
        known = self.contents.get(path)
        return read(path) if known is None else known

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

    def key(self, path: str) -> str:
        """A displayed path as the cache writes it: relative to the project's folder, with `/`."""
        key = self._keys.get(path)
        if key is None:
            key = self._keys[path] = os.path.relpath(os.path.abspath(path), self._root).replace(os.sep, "/")
        return key

    def path(self, key: str) -> str:
        """The displayed path of what `key` gave."""
        path = self._paths.get(key)
        if path is None:
            path = self._paths[key] = display(os.path.join(self._root, key))
        return path

    def face(self, path: str) -> Face:
        """What the engine needs of a file, from memory, the cache or the file's bytes; the file is not parsed.

        A file that cannot be read, or is no Python, is wanted, so that the failure is reported.
        """
        face = self.faces.get(path)
        if face is None:
            try:
                data = self.content(path)
            except SyntaxProblem as problem:
                face = Face("", True, ((problem.line, problem.message),), (), (), {}, None)
            else:
                digest = content_digest(data)
                stored = self.cache.face(self.key(path), digest) if self.cache and path not in self.contents else None
                wanted = stored is None and (names_torch(data) or not parses(data, path))
                face = stored or Face(digest, wanted, (), (), (), {}, None)
            self.faces[path] = face
        return face

    def is_test(self, path: str) -> bool:
        """Whether a file is one of tests, by its path below the folder that holds all checked files.

        A file that is checked on its own, and a folder of tests that is checked on its own, are meant.
        """
        if len(self.files) < 2:
            return False
        if self._top is None:
            try:
                self._top = os.path.commonpath([os.path.dirname(os.path.abspath(each)) for each in self.files])
            except ValueError:  # on several drives
                self._top = os.curdir
        return _TESTS.search(os.path.relpath(path, self._top).replace(os.sep, "/")) is not None

    def outline(self, path: str) -> Outline:
        """A file from outside, from the cache where it is there; else the file is read."""
        outline = self.face(path).outline
        if outline is None:
            self.load(path)
            outline = self.faces[path].outline
        return outline or Outline((), False)

    def load(self, path: str) -> Loaded:
        """The form of a file and its problems."""
        known = self._loaded.get(path)
        if known is None:
            known = self._loaded[path] = self._load(path)
        return known

    def _load(self, path: str) -> Loaded:
        try:
            data = self.content(path)
        except SyntaxProblem as problem:
            self.face(path)
            return Loaded(None, (problem,))
        digest = content_digest(data)
        cache = None if path in self.contents else self.cache
        record = cache.module(self.key(path), digest) if cache else None
        if record is None:
            loaded = lower_bytes(data, path)
            if cache:
                problems = tuple((each.line, each.message) for each in loaded.problems)
                cache.put_module(self.key(path), ModuleRecord(digest, loaded.module, problems))
        else:
            module = record.module
            if module is not None and module.path != path:
                module = ir.Module(path, module.body, module.comments, module.statements, module.lines)
            loaded = Loaded(module, tuple(SyntaxProblem(*each) for each in record.problems))
        self.faces[path] = face_of(digest, data, loaded)
        return loaded


def face_of(digest: str, data: bytes, loaded: Loaded) -> Face:
    """The face of a file that was read and lowered. Lines of statements are kept where a comment needs them."""
    comments = loaded.module.comments if loaded.module else ()
    statements = loaded.module.statements if loaded.module and comments else ()
    problems = tuple((each.line, each.message) for each in loaded.problems)
    outline = outline_of(loaded.module) if loaded.module else Outline((), False)
    return Face(digest, bool(problems) or names_torch(data), problems, comments, statements, {}, outline)


def lower_bytes(data: bytes, path: str) -> Loaded:
    """Lowers the bytes of a Python file or a notebook."""
    try:
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


def parses(data: bytes, path: str) -> bool:
    """Whether a file that is not analysed is Python all the same."""
    if path.endswith(SUFFIX):
        return True
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # invalid escapes in the user's strings
            ast.parse(decode(data))
    except (SyntaxProblem, SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True


def content_digest(data: bytes) -> str:
    """A short name for a file's content."""
    return hashlib.blake2b(data, digest_size=16).hexdigest()

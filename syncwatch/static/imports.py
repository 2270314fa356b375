"""Which file of the project an import means."""

from __future__ import annotations

import os

_NO_ENTRIES: frozenset[str] = frozenset()


class ImportFinder:
    """Resolves dotted names to files, as Python would with the project's folders on its path.

    root: the project's folder. Paths are displayed paths, openable from the current folder.
    """

    def __init__(self, root: str) -> None:
        self._root = os.path.abspath(root)
        self._listings: dict[str, frozenset[str]] = {}
        self._answers: dict[tuple[str, str], str | None] = {}
        self._search: dict[str, tuple[str, ...]] = {}
        self._import_roots: dict[str, str] = {}
        self._extra: dict[str, None] = {}

    def add_root_of(self, path: str) -> None:
        """Makes the folder that holds a file's top-level package searchable for all other files."""
        self._extra.setdefault(self.import_root(os.path.dirname(path)))

    def find(self, dotted: str, importer: str) -> str | None:
        """The file of a module, or None where the project has none.

        `dotted` may begin with dots (`..models.vit`), relative to `importer`'s package. A package is its
        `__init__.py`; a folder without one has no file.
        """
        folder = os.path.dirname(importer)
        key = (dotted, folder)
        if key not in self._answers:
            self._answers[key] = self._find(dotted, folder)
        answer = self._answers[key]
        return None if answer == importer and dotted.lstrip(".") == "" else answer

    def name_of(self, path: str) -> str:
        """The dotted name under which a file is imported."""
        folder, file = os.path.split(path)
        stem = os.path.splitext(file)[0]
        names = [] if stem == "__init__" else [stem]
        while self._has(folder, "__init__.py"):
            names.append(os.path.basename(os.path.abspath(folder)))
            folder = _above(folder)
        return ".".join(reversed(names)) or stem

    def import_root(self, folder: str) -> str:
        """The folder that holds the top-level package of which `folder` is part, or `folder` itself."""
        known = self._import_roots.get(folder)
        if known is None:
            if self._has(folder, "__init__.py"):
                known = self.import_root(_above(folder))
            else:
                known = folder
            self._import_roots[folder] = known
        return known

    def _find(self, dotted: str, folder: str) -> str | None:
        name = dotted.lstrip(".")
        level = len(dotted) - len(name)
        parts = name.split(".") if name else []
        if level:
            for _ in range(level - 1):
                folder = _above(folder)
            return self._module(folder, parts)
        for root in self._roots(folder):
            if self._holds(root, parts[0]):
                answer = self._module(root, parts)
                # A regular package or module hides later ones of its name; a namespace folder does not.
                if answer is not None or self._module(root, parts[:1]) is not None:
                    return answer
        return None

    def _roots(self, folder: str) -> tuple[str, ...]:
        """Where an absolute import is looked for: the package's root, the script's folder, then upwards, then `src`."""
        known = self._search.get(folder)
        if known is None:
            order = dict.fromkeys([self.import_root(folder), folder])
            above = folder
            while above and _inside(os.path.abspath(above), self._root):
                above = os.path.dirname(above)
                order.setdefault(above)
            for each in (self._relative_root(), os.path.join(self._relative_root(), "src"), *self._extra):
                order.setdefault(each)
            known = self._search[folder] = tuple(order)
        return known

    def _relative_root(self) -> str:
        here = os.getcwd()
        return "" if self._root == here else self._root

    def _module(self, folder: str, parts: list[str]) -> str | None:
        """The file of `a.b.c` below a folder; without parts, the folder's own `__init__.py`."""
        for part in parts[:-1]:
            if part not in self._listing(folder):
                return None
            folder = f"{folder}/{part}" if folder else part
        if not parts:
            return self._file(folder, "__init__.py")
        last = parts[-1]
        listing = self._listing(folder)
        if last in listing:
            package = self._file(f"{folder}/{last}" if folder else last, "__init__.py")
            if package is not None:
                return package
        return self._file(folder, f"{last}.py")

    def _file(self, folder: str, name: str) -> str | None:
        if not self._has(folder, name):
            return None
        path = os.path.normpath(f"{folder}/{name}" if folder else name)
        if path.startswith(".."):  # by way of a folder above the current one, perhaps back into it
            here, whole = os.getcwd(), os.path.abspath(path)
            path = os.path.relpath(whole, here) if _inside(whole, here) else path
        return path.replace(os.sep, "/")

    def _holds(self, folder: str, name: str) -> bool:
        listing = self._listing(folder)
        return name in listing or f"{name}.py" in listing

    def _has(self, folder: str, name: str) -> bool:
        return name in self._listing(folder)

    def _listing(self, folder: str) -> frozenset[str]:
        known = self._listings.get(folder)
        if known is None:
            try:
                known = frozenset(os.listdir(folder or "."))
            except OSError:
                known = _NO_ENTRIES
            self._listings[folder] = known
        return known


def _above(folder: str) -> str:
    """The folder that holds a folder; "" is the current one."""
    if folder in ("", ".") or os.path.basename(folder) == "..":
        return os.path.join(folder, "..") if folder not in ("", ".") else ".."
    return os.path.dirname(folder)


def _inside(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder + os.sep)

"""What was learnt of files, kept between runs in `.syncwatch_cache`.

Three sorts of records, each in a file of its own named after the path of the source file: its intermediate form, its
*face* (what the engine needs of a file without its form), and the result of inference with that file as root. A record
says what it was made from and is only used where that is still so. Records are written beside their place and moved
there, so that parallel runs and interrupted writes leave no half record; one that cannot be read counts as absent.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import sys
import time
from typing import TypeVar

import msgspec

from syncwatch import __version__
from syncwatch.model import Event, Problem
from syncwatch.static import ir
from syncwatch.static.options import Options
from syncwatch.static.outline import Outline

FOLDER = ".syncwatch_cache"
_KEEP_SECONDS = 7 * 24 * 3600  # folders of other versions that nobody used for so long are removed

_R = TypeVar("_R", bound="Record")


class Record(msgspec.Struct, array_like=True, frozen=True):
    """`digest` names the content of the source file that the record was made from."""

    digest: str


class ModuleRecord(Record, array_like=True, frozen=True):
    """The intermediate form of a file, None where it could not be lowered, and what was wrong: (line, message)."""

    module: ir.Module | None
    problems: tuple[tuple[int, str], ...]


class Face(Record, array_like=True, frozen=True):
    """What the engine needs of a file without its form.

    finds: what the file's imports were resolved to (dotted name to path, "" where the project has no such module).
    outline: None where the file was not parsed.
    """

    wanted: bool
    problems: tuple[tuple[int, str], ...]
    comments: tuple[ir.Comment, ...]
    statements: tuple[tuple[int, int], ...]
    finds: dict[str, str]
    outline: Outline | None


class Result(Record, array_like=True, frozen=True):
    """What inference found with a file as root. `state` names the content and the imports of all `dependencies`."""

    dependencies: tuple[str, ...]
    state: str
    events: tuple[Event, ...]
    problems: tuple[Problem, ...]
    faults: tuple[str, ...] = ()


class Cache:
    """The records of one project. Paths are relative to the project's folder.

    folder: where the records lie, by default `.syncwatch_cache` in the project's folder `root`.
    """

    def __init__(self, root: str, options: Options, folder: str = "") -> None:
        self.folder = folder or os.path.join(os.path.abspath(root), FOLDER)
        self._here = os.path.join(self.folder, tool_key())
        self._options = repr((options.hot, options.device_names, options.sync_functions, options.moves_to_device))
        self._writable = True
        self._prepared = False
        self._written = 0
        self._decoders: dict[type[Record], msgspec.msgpack.Decoder[Record]] = {}
        self._encoder = msgspec.msgpack.Encoder()

    def module(self, path: str, digest: str) -> ModuleRecord | None:
        return self._read("forms", path, digest, ModuleRecord)

    def put_module(self, path: str, record: ModuleRecord) -> None:
        self._write("forms", path, record)

    def face(self, path: str, digest: str) -> Face | None:
        return self._read("faces", path, digest, Face)

    def put_face(self, path: str, record: Face) -> None:
        self._write("faces", path, record)

    def result(self, path: str, digest: str, role: str = "") -> Result | None:
        """`role` is what the file was checked as: results for one say nothing of another."""
        return self._read("results", f"{role}{self._options}{path}", digest, Result)

    def put_result(self, path: str, record: Result, role: str = "") -> None:
        self._write("results", f"{role}{self._options}{path}", record)

    def _place(self, sort: str, name: str) -> str:
        key = hashlib.blake2b(name.encode("utf-8", "surrogateescape"), digest_size=12).hexdigest()
        return f"{self._here}/{sort}/{key}"

    def _read(self, sort: str, name: str, digest: str, kind: type[_R]) -> _R | None:
        decoder = self._decoders.get(kind)
        if decoder is None:
            decoder = self._decoders[kind] = msgspec.msgpack.Decoder(kind)
        try:
            with open(self._place(sort, name), "rb") as file:
                record = decoder.decode(file.read())
        except (OSError, msgspec.DecodeError, ValueError, RecursionError):
            return None
        return record if record.digest == digest else None  # type: ignore[return-value]

    def _write(self, sort: str, name: str, record: Record) -> None:
        if not self._writable:
            return
        try:
            data = self._encoder.encode(record)
        except (RecursionError, OverflowError, UnicodeEncodeError, ValueError):
            return  # a form too deep to be written down: it is made anew each time
        place = self._place(sort, name)
        try:
            self._prepare()
            self._written += 1
            temporary = f"{self._here}/tmp-{os.getpid()}-{id(self):x}-{self._written}"
            try:
                with open(temporary, "xb") as file:
                    file.write(data)
                os.replace(temporary, place)
            except BaseException:
                with contextlib.suppress(OSError):
                    os.unlink(temporary)
                raise
        except OSError:
            self._writable = False  # a full or read-only disk: go on without

    def _prepare(self) -> None:
        if self._prepared:
            return
        new = not os.path.isdir(self._here)
        for sort in ("forms", "faces", "results"):
            os.makedirs(os.path.join(self._here, sort), exist_ok=True)
        ignore = os.path.join(self.folder, ".gitignore")
        if not os.path.exists(ignore):
            with open(ignore, "w", encoding="utf-8") as file:
                file.write("# Made by syncwatch; `syncwatch clean` removes this folder.\n*\n")
        if new:
            self._remove_old()
        self._prepared = True

    def _remove_old(self) -> None:
        import shutil

        oldest = time.time() - _KEEP_SECONDS
        with os.scandir(self.folder) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False) and entry.stat(follow_symlinks=False).st_mtime < oldest:
                    shutil.rmtree(entry.path, ignore_errors=True)

    def touch(self) -> None:
        """Says that this version's records were used."""
        with contextlib.suppress(OSError):
            os.utime(self._here)


def clean(root: str) -> bool:
    """Removes the cache of a project; says whether there was one. Raises OSError where it cannot be removed."""
    import shutil  # slow to import, and rarely needed

    folder = os.path.join(os.path.abspath(root), FOLDER)
    if not os.path.isdir(folder) or os.path.islink(folder):
        return False
    shutil.rmtree(folder)
    return True


def tool_key() -> str:
    """A name for the version of the tool, down to the files of which it is made, and of Python.

    The files matter in a checkout, where they change while the version does not.
    """
    package = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    state = hashlib.blake2b(digest_size=8)
    waiting = [os.path.join(package, "static"), os.path.join(package, "facts")]
    while waiting:
        folder = waiting.pop()
        with os.scandir(folder) as entries:
            for entry in sorted(entries, key=lambda each: each.name):
                if entry.is_dir(follow_symlinks=False):
                    if entry.name != "__pycache__":
                        waiting.append(entry.path)
                else:
                    status = entry.stat()
                    state.update(f"{entry.path}\0{status.st_size}\0{status.st_mtime_ns}\n".encode("utf-8", "replace"))
    return f"{__version__}-py{sys.version_info[0]}{sys.version_info[1]}-{state.hexdigest()}"

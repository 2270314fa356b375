"""Results of earlier runs: when one still holds, and how new ones are kept."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable
from typing import TypeAlias

import msgspec

from syncwatch.model import Event, Problem
from syncwatch.static.cache import Cache, Face, Result
from syncwatch.static.project import Project
from syncwatch.static.work import Work

_Rename: TypeAlias = Callable[[str], str]


class Memory:
    """Recalls and keeps the results of inference of one project.

    A result holds as long as every file that inference read has the same content, and every name that was looked up
    in those files leads to the same file (or to none, as before).
    """

    def __init__(self, project: Project, cache: Cache) -> None:
        self._project = project
        self._cache = cache
        self._states: dict[str, str] = {}

    def recall(self, path: str) -> Work | None:
        """What inference found with this root, None where that is not known or no longer holds."""
        project = self._project
        if path in project.contents:
            return None
        digest = project.face(path).digest
        result = self._cache.result(project.key(path), digest, self._role(path)) if digest else None
        if result is None or self._state(result.dependencies) != result.state:
            return None
        return Work(
            path,
            tuple(self._event(event, project.path) for event in result.events),
            tuple(self._problem(problem, project.path) for problem in result.problems),
            tuple(project.path(key) for key in result.dependencies),
            result.faults,
        )

    def keep(self, works: Iterable[Work]) -> None:
        """Keeps new results, and the faces of all files that were read."""
        project = self._project
        for path, face in project.faces.items():
            if path in project.contents or not face.digest:
                continue
            stored = self._cache.face(project.key(path), face.digest)
            asked = {*project.finds.get(path, ()), *(stored.finds if stored else ())}
            finds = {dotted: self._find(dotted, path) for dotted in sorted(asked)}
            new = msgspec.structs.replace(face, finds=finds)
            if new != stored:
                self._cache.put_face(project.key(path), new)
            self._states[project.key(path)] = _state_of(new)
        for work in works:
            digest = project.face(work.path).digest
            if work.path in project.contents or not digest:
                continue
            keys = tuple(project.key(path) for path in work.dependencies)
            self._cache.put_result(
                project.key(work.path),
                Result(
                    digest,
                    keys,
                    self._state(keys),
                    tuple(self._event(event, project.key) for event in work.events),
                    tuple(self._problem(problem, project.key) for problem in work.problems),
                    work.faults,
                ),
                self._role(work.path),
            )

    def _role(self, path: str) -> str:
        return "test " if self._project.is_test(path) else ""

    def _state(self, keys: Iterable[str]) -> str:
        """One name for the content and the imports of files. Matches no kept one where the cache does not know them."""
        states = hashlib.blake2b(digest_size=16)
        for key in keys:
            state = self._states.get(key)
            if state is None:
                state = self._states[key] = self._state_of_file(key)
            states.update(state.encode())
        return states.hexdigest()

    def _state_of_file(self, key: str) -> str:
        project = self._project
        path = project.path(key)
        face = project.face(path)
        stored = self._cache.face(key, face.digest)
        if stored is None or path in project.contents:
            return f"?{face.digest}"
        for dotted, found in stored.finds.items():
            if self._find(dotted, path) != found:
                return f"?{face.digest}"
        return _state_of(stored)

    def _find(self, dotted: str, importer: str) -> str:
        found = self._project.find(dotted, importer)
        return self._project.key(found) if found else ""

    @staticmethod
    def _event(event: Event, rename: _Rename) -> Event:
        path = rename(event.site.path)
        if path == event.site.path:
            return event
        return msgspec.structs.replace(event, site=msgspec.structs.replace(event.site, path=path))

    @staticmethod
    def _problem(problem: Problem, rename: _Rename) -> Problem:
        return msgspec.structs.replace(problem, path=rename(problem.path))


def _state_of(face: Face) -> str:
    finds = "\n".join(f"{dotted} {found}" for dotted, found in sorted(face.finds.items()))
    return face.digest + hashlib.blake2b(finds.encode("utf-8", "surrogateescape"), digest_size=8).hexdigest()

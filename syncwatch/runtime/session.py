"""A recorded run: from the ledger of a session to the file between `syncwatch run` and `syncwatch report`."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable
from pathlib import Path

from syncwatch.model import BrokenFile, Session, from_json, to_json
from syncwatch.runtime.ledger import Ledger
from syncwatch.runtime.recorder import RECORDER
from syncwatch.runtime.source import Source, current_source


def session_of(ledger: Ledger, command: list[str], source: Source | None = None) -> Session:
    """The ledger's counts as a session; rank and world size are those of this process (`RANK`, `WORLD_SIZE`)."""
    rank, world_size = rank_and_world_size()
    source = source or RECORDER.source or current_source()
    return Session(
        device=source.device,
        device_name=source.device_name,
        torch=_torch_version(),
        command=command,
        rank=rank,
        world_size=world_size,
        steps=ledger.steps,
        sites=ledger.sites(),
        totals=ledger.totals(),
        limits=list(ledger.limits),
    )


def _torch_version() -> str:
    torch = sys.modules.get("torch")
    if torch is not None:
        return str(torch.__version__)
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("torch")
    except PackageNotFoundError:
        return ""


def rank_and_world_size() -> tuple[int, int]:
    """Of this process, from the variables that torchrun sets; (0, 1) elsewhere."""
    try:
        return int(os.environ.get("RANK", "0")), int(os.environ.get("WORLD_SIZE", "1"))
    except ValueError:
        return 0, 1


def load(path: str | os.PathLike[str]) -> Session:
    """Reads a session file.

    Raises BrokenFile where it cannot be read as one, with a sentence that names it.
    """
    try:
        data = Path(path).read_bytes()
    except OSError as error:
        raise BrokenFile(f"{path}: cannot be read ({error.strerror})") from None
    return from_json(data, Session, name=str(path), remedy="`syncwatch run` writes session files")


def path_of_rank(path: str, rank: int, world_size: int) -> str:
    """Each rank writes a file of its own: session.json becomes session.rank3.json."""
    if world_size <= 1:
        return path
    stem, ending = os.path.splitext(path)
    return f"{stem}.rank{rank}{ending}"


class Recording:
    """A session of the whole process: arms the recorder, and holds what it saw.

    only: paths; sites elsewhere are left out. include: installed packages that count as the user's code. steps: how
    many steps to record; `finished` is called when they lie behind.
    """

    def __init__(
        self,
        command: list[str],
        *,
        only: Iterable[str] = (),
        include: Iterable[str] = (),
        steps: int | None = None,
        finished: Callable[[Recording], None] | None = None,
    ) -> None:
        self.command = command
        self.ledger = _CountedLedger(self._step)
        self.over = False
        self._only = tuple(os.path.realpath(path) for path in only)
        self._include = tuple(include)
        self._steps = steps
        self._finished = finished
        self._ticket: int | None = None
        self._source: Source | None = None
        self._pid = os.getpid()

    def start(self) -> Source:
        """Arms. Raises what the source raises where it cannot work here."""
        if self._include:
            RECORDER.frames.include(self._include)
        RECORDER.add_session(self.ledger, self._accepts if self._only else None)
        try:
            self._ticket = RECORDER.arm()
        except BaseException:
            RECORDER.remove_session(self.ledger)
            raise
        assert RECORDER.source is not None
        self._source = RECORDER.source
        return self._source

    def stop(self) -> None:
        """Disarms; what was counted stays."""
        ticket, self._ticket = self._ticket, None
        if ticket is not None:
            RECORDER.remove_session(self.ledger)
            RECORDER.disarm(ticket)

    @property
    def ours(self) -> bool:
        """False in a child that this process forked: the parent's session is not the child's to write."""
        return os.getpid() == self._pid

    def _accepts(self, filename: str) -> bool:
        path = os.path.realpath(filename)
        return any(path == wanted or path.startswith(wanted.rstrip(os.sep) + os.sep) for wanted in self._only)

    def _step(self, done: int) -> None:
        if self._steps is not None and done >= self._steps and not self.over:
            self.over = True
            self.stop()
            if self._finished is not None:
                self._finished(self)

    def session(self) -> Session:
        """What was seen so far."""
        return session_of(self.ledger, self.command, self._source)

    def save(self, path: str, finish: Callable[[Session], Session] = lambda session: session) -> str:
        """Writes the session file, whole or not at all. Returns its path, which names the rank if there are several.

        finish: completes the session with what the recorder does not know, such as the rules.
        """
        session = finish(self.session())
        path = path_of_rank(path, session.rank, session.world_size)
        target = Path(path)
        target.parent.mkdir(parents=True, exist_ok=True)
        part = target.with_name(f".{target.name}.{os.getpid()}")
        part.write_bytes(to_json(session))
        os.replace(part, target)
        return path


class _CountedLedger(Ledger):
    def __init__(self, on_step: Callable[[int], None]) -> None:
        super().__init__()
        self._on_step = on_step

    def step_ended(self) -> None:
        super().step_ended()
        self._on_step(self.steps)

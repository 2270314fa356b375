"""The recorder: attributes what a source sees to the user's line, and counts it for whoever listens.

There is one per process (`RECORDER`). It arms the source while anybody listens (a session, an open watch) and leaves
no trace when nobody does.
"""

from __future__ import annotations

import os
import sys
import threading
import weakref
from collections.abc import Callable
from types import FrameType

from syncwatch.model import Kind
from syncwatch.runtime import scope
from syncwatch.runtime.forward import forward_site
from syncwatch.runtime.frames import Frames, Place
from syncwatch.runtime.ledger import Ledger, Tally
from syncwatch.runtime.source import Source, current_source
from syncwatch.runtime.syntax import via_of

COMPILING = "while torch.compile was compiling"


class Recorder:
    """The sink that all sources report to."""

    def __init__(self) -> None:
        self.frames = Frames()
        self._lock = threading.RLock()
        self._listeners = 0
        self._generation = 0
        self._source: Source | None = None
        self.limits: list[str] = []  # what the source has said since it was armed
        self._sessions: list[tuple[Ledger, Callable[[str], bool] | None]] = []
        self._step_owner: weakref.ref[object] | None = None
        self._compiling: Callable[[], object] = _nothing
        self._stand_in = False  # the owner of the steps is a watched function, not an optimizer

    # -- who listens

    @property
    def source(self) -> Source | None:
        """The source that is armed now."""
        return self._source

    def arm(self) -> int:
        """One more listener: the first arms the source. Returns the ticket that `disarm` takes.

        Raises whatever the source's `install` raises; nothing is armed then.
        """
        with self._lock:
            if self._listeners == 0:
                source = current_source()
                source.install(self)
                self._source = source
                self._compiling = _compile_context()
            self._listeners += 1
            return self._generation

    def disarm(self, ticket: int, *, again: bool = False) -> None:
        """One listener less: the last disarms the source (`again`: see `Source.uninstall`).

        A ticket from before a fork does nothing.
        """
        with self._lock:
            if ticket != self._generation or self._listeners == 0:
                return
            self._listeners -= 1
            if self._listeners == 0 and self._source is not None:
                source, self._source = self._source, None
                self._step_owner = None
                self.limits.clear()
                source.uninstall(again=again)

    def add_session(self, ledger: Ledger, accepts: Callable[[str], bool] | None = None) -> None:
        """`ledger` counts what happens in the whole process, at the paths that `accepts` lets pass."""
        with self._lock:
            self._sessions.append((ledger, accepts))
            for sentence in self.limits:
                ledger.limit(sentence)

    def remove_session(self, ledger: Ledger) -> None:
        """Undoes `add_session`."""
        with self._lock:
            self._sessions = [entry for entry in self._sessions if entry[0] is not ledger]

    def after_fork_in_child(self) -> None:
        """A child process starts unarmed: its parent counts for itself, and nobody would read what a child counts."""
        self._lock = threading.RLock()
        self._generation += 1
        self._listeners = 0
        self._sessions = []
        source, self._source = self._source, None
        if source is not None:
            source.uninstall()

    # -- the sink

    def occurred(
        self,
        kind: Kind,
        op: str,
        *,
        explicit: bool = False,
        waits: int = 1,
        wait_ms: float | None = None,
        frame: FrameType | None = None,
    ) -> None:
        """See `Sink.occurred`."""
        if not self._listeners:
            return
        inner = frame if frame is not None else sys._getframe(1)
        call = scope.borrowed() if scope.BACKWARDS else None
        regions = scope.regions() if call is None else call.regions
        user = inner
        if inner.f_code.co_filename not in self.frames.user_files:
            found = self.frames.user_frame(inner)
            if call is not None and (found is None or not self.frames.is_user(found.f_code)):
                inner, found = call.frame, self.frames.user_frame(call.frame)
                call = None  # nothing of the thread's own is left to tell
            if found is None:
                return
            user = found
        reason: str | None = None  # of the innermost open `allow`
        ledgers: list[Ledger] = []
        for region in regions:
            if region.open:
                if region.ledger is not None:
                    ledgers.append(region.ledger)
                else:
                    reason = region.reason
        if self._compiling() is not None:
            reason = COMPILING
        code = user.f_code
        # The offset in the code stands for the line, which takes longer to find; the ledger joins what is one line.
        # The code is named by identity: its hash takes as long as the code is.
        key = (id(code), user.f_lasti, kind._value_, op, explicit, reason)
        place: Place | None = None
        with self._lock:
            for ledger, accepts in self._sessions:
                if accepts is None or accepts(code.co_filename):
                    ledgers.append(ledger)
            for ledger in ledgers:
                tally = ledger.tallies.get(key)
                if tally is None:
                    place = place or self._place(inner, user, call)
                    via = via_of(code, user.f_lasti, place.line, op, kind, ranks=_ranks())
                    tally = ledger.tallies[key] = Tally(place, kind, op, explicit, reason, via, code)
                ledger.add(tally, waits, wait_ms)

    def _place(self, inner: FrameType | None, user: FrameType, call: scope.Backward | None) -> Place:
        if call is None:
            return self.frames.place(inner, user)
        return self.frames.place(inner, user, forward_site(self.frames), call.frame)

    def step_ended(self, owner: object) -> None:
        """See `Sink.step_ended`."""
        with self._lock:
            if not self._owns_steps(owner, stand_in=False):
                return
            for region in scope.regions():
                if region.open and region.ledger is not None:
                    region.ledger.step_ended()
            for ledger, _ in list(self._sessions):
                ledger.step_ended()

    def call_ended(self, owner: object) -> None:
        """A call of a watched function has ended: where no optimizer steps, such calls delimit the session's steps."""
        with self._lock:
            if self._owns_steps(owner, stand_in=True):
                for ledger, _ in list(self._sessions):
                    ledger.step_ended()

    def _owns_steps(self, owner: object, *, stand_in: bool) -> bool:
        held = self._step_owner() if self._step_owner is not None else None
        if held is owner:
            return True
        if held is not None and (stand_in or not self._stand_in):
            return False
        if held is not None:  # an optimizer takes over from a watched function
            for ledger, _ in self._sessions:
                ledger.forget_steps()
        self._step_owner, self._stand_in = weakref.ref(owner), stand_in
        return True

    def limit(self, sentence: str) -> None:
        """See `Sink.limit`."""
        with self._lock:
            if sentence not in self.limits:
                self.limits.append(sentence)
            for ledger, _ in self._sessions:
                ledger.limit(sentence)
            for region in scope.regions():
                if region.open and region.ledger is not None:
                    region.ledger.limit(sentence)


def _nothing() -> None:
    return None


def _compile_context() -> Callable[[], object]:
    """What says whether torch.compile is at work on this thread (not: whether a compiled function runs)."""
    guards = sys.modules.get("torch._guards")
    found: Callable[[], object] = getattr(getattr(guards, "CompileContext", None), "try_get", _nothing)
    return found


def _ranks() -> bool:
    """Whether the program has joined other ranks."""
    distributed = sys.modules.get("torch.distributed")
    return distributed is not None and distributed.is_available() and distributed.is_initialized()


RECORDER = Recorder()

if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=RECORDER.after_fork_in_child)

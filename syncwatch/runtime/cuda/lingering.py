"""Wrappers that stay for a moment between the calls of a decorated function that is called again and again.

Replacing methods of torch.Tensor costs little by itself, but Python then forgets what it knows of the class and of all
its subclasses, and after a thousand changes it stops learning: a step of tiny layers became a third slower. So from
the eighth such call within a second on, the wrappers stay until nobody has called for four times as long as the calls
lie apart, or a second at most.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Sequence

from syncwatch.runtime.patching import Hook
from syncwatch.runtime.source import Sink

OFTEN = 8  # removals
SOON = 1.0  # seconds
SOONEST = 0.05  # seconds; a thread has to look after it
FEW = 200  # removals: after that the thousand changes are near enough to be saved


class Lingering:
    """Hooks whose removal may be put off. They do nothing by themselves while they linger."""

    def __init__(self, hooks: Sequence[Hook]) -> None:
        self._hooks = hooks
        self._lock = threading.Lock()
        self._installed = False
        self._wanted = False
        self._asked: deque[float] = deque(maxlen=OFTEN)  # when removals were asked for that may be put off
        self._removed = 0
        self._remover: threading.Thread | None = None

    def install(self, sink: Sink) -> None:
        """See `Hook.install`."""
        with self._lock:
            self._wanted = True
            if not self._installed:
                self._installed = True
                for hook in self._hooks:
                    hook.install(sink)

    def uninstall(self, *, again: bool = False) -> None:
        """See `Source.uninstall`: at once, or later where it was asked for often with `again`."""
        with self._lock:
            self._wanted = False
            if not again:
                self._remove()
                return
            self._asked.append(time.monotonic())
            if len(self._asked) < OFTEN or self._asked[-1] - self._asked[0] > SOON:
                self._remove()
            elif self._remover is None:
                self._remover = threading.Thread(target=self._remove_later, name="syncwatch", daemon=True)
                self._remover.start()

    def uninstall_in_child(self) -> None:
        """Removes them after a fork, in a process that has only this thread."""
        self._lock = threading.Lock()
        self._remover = None
        self._wanted = False
        self._remove()

    def _patience(self) -> float:
        """For how long they stay, in seconds."""
        if self._removed > FEW:
            return SOON
        apart = (self._asked[-1] - self._asked[0]) / (OFTEN - 1)
        return min(max(4 * apart, SOONEST), SOON)

    def _remove_later(self) -> None:
        while True:
            with self._lock:
                left = self._asked[-1] + self._patience() - time.monotonic()
                if not self._installed or (left <= 0 and not self._wanted):
                    self._remove()
                    self._remover = None
                    return
            time.sleep(max(left, SOONEST))

    def _remove(self) -> None:
        if self._installed:
            self._installed = False
            self._removed += 1
            for hook in reversed(self._hooks):
                hook.uninstall()

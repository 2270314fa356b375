"""Wrappers that stay for a moment when they come and go in quick succession, as with a decorated training step.

Replacing methods of torch.Tensor costs little by itself, but Python then forgets what it knows of the class and of all
its subclasses, and after a thousand changes it stops learning: a step of tiny layers became a third slower. So
from the third removal within a second on, the wrappers stay in place until nobody has asked for them for a second.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Sequence

from syncwatch.runtime.patching import Hook
from syncwatch.runtime.source import Sink

OFTEN = 3  # removals
SOON = 1.0  # seconds


class Lingering:
    """Hooks whose removal may be put off. They do nothing by themselves while they linger."""

    def __init__(self, hooks: Sequence[Hook]) -> None:
        self._hooks = hooks
        self._lock = threading.Lock()
        self._installed = False
        self._wanted = False
        self._removals: deque[float] = deque(maxlen=OFTEN)
        self._remover: threading.Thread | None = None

    def install(self, sink: Sink) -> None:
        """See `Hook.install`."""
        with self._lock:
            self._wanted = True
            if not self._installed:
                self._installed = True
                for hook in self._hooks:
                    hook.install(sink)

    def uninstall(self) -> None:
        """See `Hook.uninstall`: at once, or later where removals come often."""
        with self._lock:
            self._wanted = False
            now = time.monotonic()
            self._removals.append(now)
            if len(self._removals) < OFTEN or now - self._removals[0] > SOON:
                self._remove()
            elif self._remover is None:
                self._remover = threading.Thread(target=self._remove_later, name="syncwatch", daemon=True)
                self._remover.start()

    def settle(self) -> None:
        """Removes them now, unless somebody wants them."""
        with self._lock:
            if not self._wanted:
                self._remove()

    def uninstall_now(self) -> None:
        """Removes them without waiting, in a process that has only one thread (after a fork)."""
        self._lock = threading.Lock()
        self._remover = None
        self._wanted = False
        self._remove()

    def _remove_later(self) -> None:
        while True:
            with self._lock:
                left = self._removals[-1] + SOON - time.monotonic()
                if not self._installed or (left <= 0 and not self._wanted):
                    self._remove()
                    self._remover = None
                    return
            time.sleep(max(left, SOON / 10))

    def _remove(self) -> None:
        if self._installed:
            self._installed = False
            for hook in reversed(self._hooks):
                hook.uninstall()

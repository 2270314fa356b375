"""Saves before a signal ends the process, and lets it die of the signal as it would have without us."""

from __future__ import annotations

import ctypes
import os
import signal
import socket
import threading
from collections.abc import Callable
from contextlib import suppress
from types import FrameType

FATAL = ("SIGTERM", "SIGHUP", "SIGXCPU", "SIGUSR1")
GRACE = 1.0  # seconds in which the main thread may act by itself


class LastWords:
    """Calls `save` when a fatal signal arrives that the program does not handle, then dies of it.

    Python runs signal handlers in the main thread between two instructions, which never comes while that thread waits
    in C (for other ranks, say). So a thread of ours listens too, and acts when the main thread has not.
    """

    def __init__(self, save: Callable[[], None]) -> None:
        self._save = save
        self._taken: list[int] = []
        self._sockets: tuple[socket.socket, socket.socket] | None = None

    def arm(self) -> None:
        """Takes the signals whose disposition is the default. Does nothing outside the main thread."""
        if threading.current_thread() is not threading.main_thread() or os.name != "posix":
            return
        for name in FATAL:
            number = getattr(signal, name, None)
            if number is not None and signal.getsignal(number) == signal.SIG_DFL:
                signal.signal(number, self._handle)
                self._taken.append(number)
        ours, theirs = socket.socketpair()
        theirs.setblocking(False)
        if signal.set_wakeup_fd(theirs.fileno(), warn_on_full_buffer=False) != -1:
            ours.close()
            theirs.close()
            return
        self._sockets = (ours, theirs)
        threading.Thread(target=self._listen, args=(ours,), name="syncwatch-signals", daemon=True).start()

    def disarm(self) -> None:
        """Puts the signals back that the program has not taken since."""
        if self._sockets is not None:
            theirs = self._sockets[1]
            self._sockets = None
            before = signal.set_wakeup_fd(-1)
            if before not in (-1, theirs.fileno()):
                signal.set_wakeup_fd(before)
            theirs.close()  # ends the thread, which closes its end
        for number in self._taken:
            if signal.getsignal(number) == self._handle:
                signal.signal(number, signal.SIG_DFL)
        self._taken.clear()

    def _handle(self, number: int, frame: FrameType | None) -> None:
        with suppress(Exception):
            self._save()
        signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)

    def _listen(self, arrivals: socket.socket) -> None:
        pid = os.getpid()
        with arrivals:
            while data := arrivals.recv(64):
                for number in data:
                    if number in self._taken and signal.getsignal(number) == self._handle and os.getpid() == pid:
                        threading.Event().wait(GRACE)
                        with suppress(Exception):
                            self._save()
                        # only the main thread may do this through Python
                        ctypes.CDLL(None).signal(number, 0)
                        os.kill(pid, number)

"""A progress bar on a terminal, for checks that take a while."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

AFTER_SECONDS = 1.0  # a shorter check shows no bar


@contextmanager
def bar(wanted: bool) -> Iterator[Callable[[int, int], None] | None]:
    """A function that is told how many files are done, and of how many; None where no bar is wanted.

    The bar goes to standard error, where that is a terminal. It appears after a second, and leaves nothing behind.
    """
    if not wanted or not sys.stderr.isatty():
        yield None
        return
    shown = _Bar()
    try:
        yield shown.update
    finally:
        shown.close()


class _Bar:
    def __init__(self) -> None:
        self._start = time.monotonic()
        self._close: Callable[[], None] | None = None
        self._update: Callable[[int, int], None] | None = None

    def update(self, done: int, total: int) -> None:
        if self._update is None:
            if time.monotonic() - self._start < AFTER_SECONDS:
                return
            self._open(total)
        if self._update is not None:
            self._update(done, total)

    def close(self) -> None:
        if self._close is not None:
            self._close()

    def _open(self, total: int) -> None:
        # imported here, since rich takes longer to load than most checks take
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

        progress = Progress(
            TextColumn("checking"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("files"),
            TimeRemainingColumn(),
            console=Console(stderr=True),
            transient=True,
        )
        task = progress.add_task("checking", total=total)
        progress.start()

        def update(done: int, total: int) -> None:
            progress.update(task, completed=done, total=total)

        self._update, self._close = update, progress.stop

"""The progress bar: on a terminal, and only for checks that take a while."""

from __future__ import annotations

import io
from collections.abc import Callable

import pytest

from syncwatch.cli import progress


class Terminal(io.StringIO):
    """Standard error that is a terminal."""

    def isatty(self) -> bool:
        return True


@pytest.fixture
def use(monkeypatch: pytest.MonkeyPatch) -> Callable[[io.StringIO], io.StringIO]:
    """Makes something standard error; done inside the test, since pytest puts its own there before each."""

    def put(stream: io.StringIO) -> io.StringIO:
        monkeypatch.setattr("sys.stderr", stream)
        monkeypatch.setenv("TERM", "xterm")
        return stream

    return put


def test_a_long_check_shows_how_far_it_is(use: Callable[..., io.StringIO], monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = use(Terminal())
    monkeypatch.setattr(progress, "AFTER_SECONDS", 0.0)
    with progress.bar(wanted=True) as update:
        assert update is not None
        for done in range(0, 41, 10):
            update(done, 40)
    assert "files" in terminal.getvalue()
    assert "40/40" in terminal.getvalue()
    assert terminal.getvalue().endswith("\x1b[2K"), "the line is wiped at the end"


def test_a_short_check_shows_nothing(use: Callable[..., io.StringIO]) -> None:
    terminal = use(Terminal())
    with progress.bar(wanted=True) as update:
        assert update is not None
        update(0, 2)
        update(2, 2)
    assert terminal.getvalue() == ""


def test_no_bar_without_a_terminal_or_when_not_wanted(use: Callable[..., io.StringIO]) -> None:
    use(Terminal())
    with progress.bar(wanted=False) as update:
        assert update is None
    use(io.StringIO())
    with progress.bar(wanted=True) as update:
        assert update is None


def test_the_bar_goes_when_the_check_fails(use: Callable[..., io.StringIO], monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = use(Terminal())
    monkeypatch.setattr(progress, "AFTER_SECONDS", 0.0)

    def interrupted() -> None:
        with progress.bar(wanted=True) as update:
            assert update is not None
            update(1, 40)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert terminal.getvalue().endswith("\x1b[2K")

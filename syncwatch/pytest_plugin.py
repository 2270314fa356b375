"""The pytest plugin: `@pytest.mark.max_syncs(0)` fails a test in which the host waits for the device too often.

On a machine without a GPU, marked tests run on the emulated device, so that the same marker works in CI.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

import pytest

MARK = "max_syncs"
_OPTIONS = ("count", "on_exceed", "name")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Adds --syncwatch-device."""
    parser.getgroup("syncwatch").addoption(
        "--syncwatch-device",
        choices=("auto", "cuda", "emulated", "off"),
        default="auto",
        help="where tests marked max_syncs run: auto takes the GPU if there is one, else an emulated one; "
        "off ignores the marker",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Announces the marker."""
    config.addinivalue_line(
        "markers",
        f"{MARK}(n, count='all'): the test fails if the host waits for the device more than n times "
        "(count='implicit' leaves out item, cpu, tolist, synchronize)",
    )


@pytest.hookimpl(trylast=True)
def pytest_collection_finish(session: pytest.Session) -> None:
    """Lets the emulated device register while it still can: before the first backward of the process."""
    if any(_marked(item) for item in session.items) and _device(session.config) == "emulated":
        from syncwatch.emulator import backend

        backend.register()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, Any, Any]:
    """A marked test has its device from its fixtures' set-up to their end."""
    if not _marked(item) or _device(item.config) != "emulated":
        return (yield)
    from syncwatch.emulator import emulate

    with emulate():
        return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, Any, Any]:
    """The body of a marked test is watched."""
    if not _marked(item) or item.config.getoption("--syncwatch-device") == "off":
        return (yield)
    maximum, options = _arguments(item)
    import syncwatch

    try:
        watch = syncwatch.watch(max_syncs=maximum, **{"name": item.name, **options})
    except ValueError as error:
        pytest.fail(f"{item.nodeid}: @pytest.mark.{MARK}: {error}", pytrace=False)
    try:
        with watch:
            return (yield)
    except syncwatch.SyncBudgetExceeded as error:
        if error.report is not watch.report:  # of a watch in the test itself
            raise
        breach = str(error)
    pytest.fail(breach, pytrace=False)  # the message says where; frames of ours would say nothing


def _marked(item: pytest.Item) -> bool:
    return item.get_closest_marker(MARK) is not None


def _arguments(item: pytest.Item) -> tuple[int, dict[str, Any]]:
    marker = item.get_closest_marker(MARK)
    assert marker is not None
    options = dict(marker.kwargs)
    positional = list(marker.args) or [options.pop("n", None)]
    unknown = sorted(set(options) - set(_OPTIONS))
    if len(positional) != 1 or isinstance(positional[0], bool) or not isinstance(positional[0], int) or unknown:
        known = ", ".join(_OPTIONS)
        pytest.fail(f"{item.nodeid}: write @pytest.mark.{MARK}(0), with {known} as further arguments", pytrace=False)
    return positional[0], options


def _device(config: pytest.Config) -> str:
    wanted: str = config.getoption("--syncwatch-device")
    if wanted != "auto":
        return wanted
    from syncwatch.runtime.cuda.device import has_cuda

    return "cuda" if has_cuda() else "emulated"

"""Runs programs under the recorder, in this process, on a real GPU (or under any source)."""

from __future__ import annotations

import contextlib
import io
import os
import sys
import traceback
import types
from pathlib import Path
from typing import Any

from syncwatch.model import SiteCount
from syncwatch.runtime.session import Recording


def run_program(path: Path, argv: list[str] | None = None, *, silent: bool = True) -> None:
    """Runs a program as `__main__`. Raises what it raises, except SystemExit."""
    code = compile(path.read_text(encoding="utf-8"), str(path), "exec")
    main = types.ModuleType("__main__")
    main.__file__ = str(path)
    before, arguments, environment = sys.modules["__main__"], sys.argv, dict(os.environ)
    sys.modules["__main__"], sys.argv = main, [str(path), *(argv or [])]
    sys.path.insert(0, str(path.parent))
    try:
        hidden = contextlib.redirect_stdout(io.StringIO()) if silent else contextlib.nullcontext()
        with hidden, contextlib.suppress(SystemExit):
            exec(code, main.__dict__)
    finally:
        sys.modules["__main__"], sys.argv = before, arguments
        sys.path.remove(str(path.parent))
        os.environ.clear()
        os.environ.update(environment)


def record(path: Path, argv: list[str] | None = None, *, warm: bool = True) -> tuple[list[SiteCount], str]:
    """The sites of a program in its own file, and the traceback it ended with ("" if none).

    warm: run it once unwatched before, so that modules are loaded and caches filled.
    """
    recording = Recording([str(path)], only=[str(path)])
    error = ""
    try:
        if warm:
            run_program(path, argv)
        seed()
        recording.start()
        run_program(path, argv)
    except Exception:
        error = traceback.format_exc(limit=-3)
    finally:
        recording.stop()
    return recording.ledger.sites(), error


def seed() -> None:
    """The programs are compared with measurements that began like this."""
    import torch

    torch.manual_seed(0)


def by_line(sites: list[SiteCount]) -> dict[int, dict[str, Any]]:
    """Counts, kinds, operations and waits of each line."""
    lines: dict[int, dict[str, Any]] = {}
    for site in sites:
        line = lines.setdefault(site.line, {"count": 0, "kinds": [], "ops": [], "wait_ms": 0.0})
        line["count"] += site.count
        line["kinds"] = sorted({*line["kinds"], site.kind.value})
        line["ops"] = sorted({*line["ops"], site.op})
        line["wait_ms"] = None if site.wait_ms is None or line["wait_ms"] is None else line["wait_ms"] + site.wait_ms
    return lines

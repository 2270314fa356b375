"""The abstract interpreter: executes a program over abstract values and records where the host would wait."""

from __future__ import annotations

from syncwatch.static import library

library.load()  # the models of Python itself come after those of libraries, and win

from syncwatch.static.infer import expressions, python, statements  # noqa: E402
from syncwatch.static.infer.entry import Result, infer_root  # noqa: E402

__all__ = ["Result", "expressions", "infer_root", "python", "statements"]

"""The abstract interpreter: executes a program over abstract values and records where the host would wait."""

from __future__ import annotations

from syncwatch.static.infer import expressions, python, statements
from syncwatch.static.infer.entry import Result, infer_root

__all__ = ["Result", "expressions", "infer_root", "python", "statements"]

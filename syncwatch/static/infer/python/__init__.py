"""Models of Python itself: builtins, containers, text, and the parts of the standard library that programs lean on."""

from __future__ import annotations

from syncwatch.static.infer.python import builtins, containers, numbers, stdlib, strings

__all__ = ["builtins", "containers", "numbers", "stdlib", "strings"]

"""Models of Python itself: builtins, containers, text, and the parts of the standard library that programs lean on."""

from __future__ import annotations

from syncwatch.static.infer.python import (
    batches,
    builtins,
    concurrency,
    containers,
    iterators,
    numbers,
    sinks,
    stdlib,
    strings,
)

__all__ = ["batches", "builtins", "concurrency", "containers", "iterators", "numbers", "sinks", "stdlib", "strings"]

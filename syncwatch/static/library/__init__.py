"""Models of libraries: what calls of torch, numpy, Lightning, accelerate … return, by dotted public name.

Each module of this package registers its models when it is imported; `load` imports them all.
"""

from __future__ import annotations

import importlib
import pkgutil

from syncwatch.static.library import protocol

_loaded = False


def load() -> None:
    """Registers every model, once."""
    global _loaded
    if _loaded:
        return
    _loaded = True
    for info in pkgutil.iter_modules(__path__):
        if info.name != "protocol":
            importlib.import_module(f"{__name__}.{info.name}")
    protocol.forget()

"""syncwatch: find where a PyTorch program makes the host wait for the GPU.

The public names are loaded on first use, so that `import syncwatch` costs nothing and never imports torch.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

# name -> module that defines it
_PUBLIC: dict[str, str] = {
    "Event": "syncwatch.model",
    "Finding": "syncwatch.model",
    "Kind": "syncwatch.model",
    "Report": "syncwatch.runtime.report",
    "Session": "syncwatch.model",
    "Site": "syncwatch.model",
    "SyncBudgetExceeded": "syncwatch.runtime.report",
    "allow": "syncwatch.runtime.allow",
    "check": "syncwatch.checking",
    "emulate": "syncwatch.emulator.device",
    "load": "syncwatch.runtime.session",
    "watch": "syncwatch.runtime.watch",
}

__all__ = ["__version__", *_PUBLIC]

if TYPE_CHECKING:
    from syncwatch.checking import check as check
    from syncwatch.emulator.device import emulate as emulate
    from syncwatch.model import Event as Event
    from syncwatch.model import Finding as Finding
    from syncwatch.model import Kind as Kind
    from syncwatch.model import Session as Session
    from syncwatch.model import Site as Site
    from syncwatch.runtime.allow import allow as allow
    from syncwatch.runtime.report import Report as Report
    from syncwatch.runtime.report import SyncBudgetExceeded as SyncBudgetExceeded
    from syncwatch.runtime.session import load as load
    from syncwatch.runtime.watch import watch as watch


def __getattr__(name: str) -> Any:
    if name in _PUBLIC:
        from importlib import import_module

        value = getattr(import_module(_PUBLIC[name]), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module 'syncwatch' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)

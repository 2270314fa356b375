"""A name of torch means the same by every path that public code imports it by."""

from __future__ import annotations

import importlib
import inspect

import pytest

PACKAGES = [
    "torch.distributions",
    "torch.optim",
    "torch.nn",
    "torch.utils.data",
    "torch.cuda",
    "torch.amp",
    "torch.cuda.amp",
]
# a module and a function of one name; classes that torch itself shows elsewhere
AMBIGUOUS = {"spectral_norm", "weight_norm", "Tensor", "OutOfMemoryError", "AcceleratorError"}


@pytest.mark.parametrize("package", PACKAGES)
def test_defining_files_are_folded_into_their_package(package):
    from syncwatch.static import library
    from syncwatch.static.library.protocol import canonical

    library.load()
    module = importlib.import_module(package)
    checked = 0
    for name, value in vars(module).items():
        if name.startswith("_") or name in AMBIGUOUS or not (inspect.isclass(value) or inspect.isfunction(value)):
            continue
        path = f"{value.__module__}.{value.__qualname__}"
        if path.startswith(package + ".") and "._" not in path:
            checked += 1
            assert canonical(path) == canonical(f"{package}.{name}")
    assert checked >= 3

"""What a module says from outside, without being executed."""

from __future__ import annotations

from textwrap import dedent

import pytest

from syncwatch.static import ir
from syncwatch.static.lower import lower
from syncwatch.static.outline import is_program, late_imports, outline_of


def form(text: str) -> ir.Module:
    return lower(dedent(text), "m.py")


@pytest.mark.parametrize(
    ("text", "exports"),
    [
        ("import os\nfrom a import b as c\ndef f(): inner = 1\nclass K: x = 1\n_p = 0", "os c f K"),
        ("v, (w, *u) = 1, (2, 3)\nx: int = 1\nx += 1", "v w u x"),
        ("__all__ = ['f']\ndef f(): ...\ndef g(): ...", "f"),
        ("if x:\n    a = 1\nelse:\n    b = 2\ntry:\n    import c\nexcept ImportError:\n    c = None", "a b c"),
        ("with open('f') as file:\n    pass\nfor i in range(3):\n    j = i", "file i j"),
    ],
)  # fmt: skip
def test_names_that_a_star_import_binds(text: str, exports: str) -> None:
    assert outline_of(form(text)).exports == tuple(exports.split())


@pytest.mark.parametrize(
    "text",
    [
        "from .a import *\ndef f(): ...",
        "__all__ = ['f'] + other.__all__\ndef f(): ...",
        "__all__ = ['f']\n__all__ += ['g']",
        "__all__ = ['f']\n__all__.extend(names)",
        "__all__ = [name for name in dir()]",
    ],
)
def test_names_that_only_execution_tells(text: str) -> None:
    assert outline_of(form(text)).exports is None


@pytest.mark.parametrize(
    ("text", "registers"),
    [
        ("from .registry import MODELS\n@MODELS.register_module()\nclass Net: ...", True),
        ("from .registry import register\n@register\ndef net(): ...", True),
        ("from .registry import MODELS\nMODELS['net'] = Net", True),
        ("from .registry import MODELS\nMODELS.add(Net)", True),
        ("import torch\ntorch.set_default_device('cuda')", True),
        ("import torch\nif True:\n    torch.backends.cudnn.benchmark = True", True),
        ("from dataclasses import dataclass\n@dataclass\nclass Config: ...", False),
        ("import logging\nlogger = logging.getLogger(__name__)\nlogger.info('x')", False),
        ("table = {}\ntable['a'] = 1\ntable.update(b=2)", False),
        ("import torch\ndef f():\n    torch.set_default_device('cuda')", False),
    ],
)
def test_imports_that_change_what_others_hold(text: str, registers: bool) -> None:
    assert outline_of(form(text)).registers is registers


def test_programs_ask_for_their_name() -> None:
    assert is_program(form("if __name__ == '__main__':\n    main()"))
    assert is_program(form("if '__main__' == __name__ and ready:\n    main()"))
    assert not is_program(form("log = getLogger(__name__)\nif ready:\n    main()"))


def test_imports_that_may_wait() -> None:
    module = form("""
        from a import once
        from b import twice
        from c import *
        if TYPE_CHECKING:
            from d import Hint
        try:
            from e import tried
        except ImportError:
            tried = None
        if ready:
            from f import branch
            twice = None
    """)
    assert [s.module for s in late_imports(module)] == ["a", "c", "d"]

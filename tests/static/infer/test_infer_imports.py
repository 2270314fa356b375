"""Imports inside a project: carried out when something of them is needed, with the same findings as if at once."""

from __future__ import annotations

from itertools import permutations

from syncwatch.static.engine import analyse
from syncwatch.static.infer import infer_root
from syncwatch.static.options import Options
from syncwatch.static.project import Project

TOOLS = """
import torch

def read(t):
    return t.sum().item()  # sync
"""


def test_names_are_fetched_through_packages_that_import_one_another(check):
    check(
        """
        import torch
        from pkg import Reader
        import pkg

        reader = Reader(torch.rand(4, device="cuda"))
        for step in range(3):
            reader.step()
            pkg.tools.read(torch.rand(3))
        """,
        **{
            "pkg/__init__": "from .loop import *\nfrom .tools import read",
            "pkg/loop": """
        from . import tools
        from pkg import read as again

        class Reader:
            def __init__(self, data):
                self.data = data

            def step(self):
                return tools.read(self.data)
        """,
            "pkg/tools": TOOLS,
        },
    )


def test_modules_that_register_are_imported_at_once(check):
    check(
        """
        import torch
        from nets import build

        net = build("mlp").cuda()
        for step in range(3):
            out = net(torch.rand(2, 3, device="cuda"))
            if out.sum() > 0:  # sync
                break
        """,
        **{
            "nets/__init__": """
        from .registry import build
        from .mlp import Mlp
        """,
            "nets/registry": """
        NETS = {}

        def register(cls):
            NETS[cls.name] = cls
            return cls

        def build(name):
            return NETS[name]()
        """,
            "nets/mlp": """
        import torch
        from .registry import register

        @register
        class Mlp(torch.nn.Module):
            name = "mlp"

            def __init__(self):
                super().__init__()
                self.layer = torch.nn.Linear(3, 3)

            def forward(self, x):
                return self.layer(x)
        """,
        },
    )


def test_a_registry_of_many_modules_is_not_taken_for_empty(check):
    parts = {
        f"zoo/net{i}": f"""
        import torch
        from .registry import register

        @register
        class Net{i}(torch.nn.Module):
            def forward(self, x):
                return x
        """
        for i in range(12)
    }
    check(
        """
        import torch
        from zoo import build

        net = build("Net3")
        x = torch.rand(3, device="cuda")
        for step in range(3):
            x.sum().item()  # sync
        """,
        **parts,
        **{
            "zoo/__init__": "from .registry import build\n"
            + "\n".join(f"from .net{i} import Net{i}" for i in range(12)),
            "zoo/registry": """
        NETS = {}

        def register(cls):
            NETS[cls.__name__] = cls
            return cls

        def build(name):
            if name not in NETS:
                raise KeyError(name)
            return NETS[name]()
        """,
        },
    )


def test_a_module_that_is_a_root_and_imported_gives_the_same_in_any_order(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    files = {
        "first.py": "from last import read\nimport torch\nfor i in range(3):\n    read(torch.rand(2, device='cuda'))\n",
        "last.py": "import torch\nfrom middle import where\ndef read(t):\n    return t.to(where).item()\n",
        "middle.py": "import torch\nimport last\nwhere = torch.device('cuda')\n"
        "class Net(torch.nn.Module):\n    def forward(self, x):\n        return last.read(x)\n",
    }
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    found = set()
    for order in permutations(files):
        project = Project(files, Options(cache=False))
        events = {(e.site.path, e.site.line) for path in order for e in infer_root(project, path, strict=True).events}
        found.add(frozenset(events))
    assert found == {frozenset({("last.py", 4)})}


def test_a_default_device_set_by_an_import_holds_for_every_root(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "settings.py").write_text("import torch\ntorch.set_default_device('cuda')\n")
    for name in ("a.py", "b.py"):
        (tmp_path / name).write_text(
            "import torch\nimport settings\nfor i in range(3):\n    torch.rand(3).sum().item()\n"
        )
    events = analyse(["a.py", "b.py"], Options(cache=False)).events
    assert [(e.site.path, e.site.line) for e in events] == [("a.py", 4), ("b.py", 4)]


def test_a_program_that_is_imported_too_is_still_run_as_a_program(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.py").write_text("import torch\nimport tool\ntool.read(torch.rand(3))\n")
    (tmp_path / "tool.py").write_text(
        "import torch\ndef read(t):\n    return t.item()\n"
        "if __name__ == '__main__':\n    for i in range(3):\n        read(torch.rand(3, device='cuda').sum())\n"
    )
    events = analyse(["."], Options(cache=False)).events
    assert [(e.site.path, e.site.line, e.heat.value) for e in events] == [("tool.py", 3, "step")]


def test_methods_behind_a_decorator_of_another_module_are_seen(check):
    check(
        """
        import torch
        from pkg.decorators import scaled

        class Net(torch.nn.Module):
            @scaled("x")
            def forward(self, x: torch.Tensor):
                if x.sum() > 0:  # sync
                    return x
                return -x
        """,
        **{
            "pkg/decorators": """
        import functools

        def scaled(name):
            def decorator(function):
                @functools.wraps(function)
                def wrapper(self, *args, **kwargs):
                    kwargs.pop(name, None)
                    return function(self, *args, **kwargs)
                return wrapper
            return decorator
        """,
        },
    )


def test_a_file_that_imports_much_is_still_seen(infer):
    big = "\n".join(f"def f{i}(x):\n    return x + {i}\nvalue{i} = f{i}({i})" for i in range(2000))
    events = infer(
        "import torch\nfrom pkg.big import value1\nfor i in range(3):\n    torch.rand(2, device='cuda').sum().item()\n",
        **{"pkg/big": big},
    )
    assert [e.site.line for e in events] == [4]

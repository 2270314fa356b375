"""The table knows what PyTorch itself says of its operators."""

from __future__ import annotations

import importlib.util
import subprocess
import sys

import pytest

torch = pytest.importorskip("torch")

from syncwatch import facts  # noqa: E402
from syncwatch.facts import observe  # noqa: E402
from syncwatch.facts.measure import __main__ as measure  # noqa: E402
from syncwatch.facts.ops import silent  # noqa: E402

# operators tagged as depending on data that the table leaves out, each with its reason
UNMEASURED: dict[str, str] = {}


def tagged() -> list[str]:
    """aten operators that PyTorch tags with an output that depends on data, or whose shape does."""
    names = []
    for name in torch._C._dispatch_get_all_op_names():
        if name.startswith("aten::"):
            base, _, overload = name.removeprefix("aten::").partition(".")
            operator = getattr(getattr(torch.ops.aten, base, None), overload or "default", None)
            tags = getattr(operator, "tags", ())
            if torch.Tag.data_dependent_output in tags or torch.Tag.dynamic_output_shape in tags:
                names.append(f"aten.{base}.{overload or 'default'}")
    return names


def test_tagged_operators_are_in_the_table() -> None:
    names = tagged()
    assert "aten.nonzero.default" in names
    missing = [name for name in names if (fact := facts.by_leaf(name)) is None or not fact.cases]
    assert [name for name in missing if name not in UNMEASURED] == []
    assert set(UNMEASURED) <= set(missing)


def test_public_names_exist() -> None:
    """A misspelt name would never be met. Names that this version of torch lacks are listed."""
    elsewhere = ("torch.distributed.", "torch.cuda.", "torch._ops.", "torch.accelerator.", "pickle.", "gc.")
    methods_of_syntax = {
        "torch.Tensor.__nonzero__",
        "torch.Tensor.__long__",
        "torch.Tensor.__str__",
    }
    unknown = []
    other = {"torchvision": "torchvision.", "torchaudio": "torchaudio.", "tensorboard": "torch.utils.tensorboard."}
    elsewhere += tuple(prefix for module, prefix in other.items() if importlib.util.find_spec(module) is None)
    for name in (*facts.table().public, *silent.public()):
        if name.startswith(elsewhere) or name in methods_of_syntax:
            continue
        try:
            observe.resolve(name)
        except (AttributeError, ModuleNotFoundError):
            unknown.append(name)
    assert unknown == []


def test_measuring_says_that_it_needs_a_gpu(capsys: pytest.CaptureFixture[str]) -> None:
    if torch.cuda.is_available():
        pytest.skip("this machine has a GPU")
    assert measure.main(["--sample-seconds", "0"]) == 2
    assert capsys.readouterr().err == (
        "syncwatch: measuring needs an NVIDIA GPU and a CUDA build of PyTorch; this machine has none\n"
    )


def test_asking_the_table_does_not_import_torch() -> None:
    program = (
        "import sys; from syncwatch import facts; from syncwatch.facts import words;"
        "facts.predict('torch.nonzero', facts.Call()); words.operation('torch.nonzero');"
        "sys.exit('torch' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0

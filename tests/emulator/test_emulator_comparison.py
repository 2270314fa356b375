"""The script that compares a session of a GPU with one of the emulated device."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

from syncwatch.model import Kind, Session, SiteCount, to_json

SCRIPT = Path(__file__).parent.parent / "gpu" / "compare.py"


@pytest.fixture
def comparison():
    spec = importlib.util.spec_from_file_location("gpu_compare", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def session(tmp_path: Path, device: str, *sites: tuple[int, Kind, int]) -> str:
    found = [
        SiteCount(path="train.py", line=line, function="f", kind=kind, op="torch.Tensor.to", count=count)
        for line, kind, count in sites
    ]
    path = tmp_path / f"{device}.json"
    path.write_bytes(to_json(Session(device=device, device_name="", torch="", command=[], sites=found)))
    return str(path)


def test_lines_are_compared_by_count_and_kinds_are_listed_apart(comparison, tmp_path, capsys):
    gpu = session(tmp_path, "cuda", (1, Kind.UPLOAD, 2), (1, Kind.UPLOAD, 1), (2, Kind.UPLOAD, 4), (3, Kind.UPLOAD, 1))
    emulated = session(tmp_path, "emulated", (1, Kind.UPLOAD, 3), (2, Kind.TENSOR_READ, 4), (4, Kind.UPLOAD, 1))
    assert comparison.main([gpu, emulated]) == 1
    assert capsys.readouterr().out.splitlines()[1:] == [
        "  other count: train.py:3: 1 upload on the GPU; none emulated (torch.Tensor.to)",
        "  other count: train.py:4: none on the GPU; 1 upload emulated (torch.Tensor.to)",
        "  other kind: train.py:2: 4 upload on the GPU; 4 tensor-read emulated (torch.Tensor.to)",
        "2 of 4 lines agree in their counts",
    ]
    assert comparison.main([gpu, gpu]) == 0

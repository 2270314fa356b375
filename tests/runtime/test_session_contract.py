"""A session as `syncwatch run` writes it has the fields that docs/recorder.md names, of those types, and no others."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch")

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = """
import torch, syncwatch

model = torch.nn.Linear(4, 4).to("cuda")
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(4):
    loss = model(torch.rand(2, 4, device="cuda")).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(loss.item())
    with syncwatch.allow("for the log"):
        float(loss)
"""
TYPES = {
    "int": lambda value: isinstance(value, int) and not isinstance(value, bool),
    "number": lambda value: isinstance(value, (int, float)) and not isinstance(value, bool),
    "string": lambda value: isinstance(value, str),
    "bool": lambda value: isinstance(value, bool),
    "object": lambda value: isinstance(value, dict),
    "null": lambda value: value is None,
}


def documented(heading: str) -> dict[str, str]:
    """The fields of one table, with the words for their types."""
    text = (ROOT / "docs" / "recorder.md").read_text(encoding="utf-8")
    table = re.search(rf"^\| {heading} \| type \|.*\n\| --- .*\n((?:\|.*\n)+)", text, re.M)
    assert table is not None, heading
    fields: dict[str, str] = {}
    for row in table[1].splitlines():
        names, types = (cell.strip() for cell in row.split("|")[1:3])
        found = re.findall(r"`(\w+)`", names)
        each = [word.strip() for word in types.split(",")]
        fields.update(zip(found, each * len(found) if len(each) == 1 else each, strict=False))
    return fields


def fits(value: Any, words: str) -> bool:
    """Whether a value is of the documented type."""
    if words.startswith("list of "):
        return isinstance(value, list) and all(fits(item, words.removeprefix("list of ")) for item in value)
    return any(TYPES[word](value) for word in words.split(" or "))


def assert_documented(value: dict[str, Any], heading: str) -> None:
    fields = documented(heading)
    assert set(value) == set(fields), heading
    assert {name: words for name, words in fields.items() if not fits(value[name], words)} == {}


@pytest.fixture(scope="module")
def session(tmp_path_factory) -> dict[str, Any]:
    folder = tmp_path_factory.mktemp("contract")
    (folder / "train.py").write_text(PROGRAM)
    command = [sys.executable, "-m", "syncwatch", "run", "--device", "emulated", "--quiet", "-o", "s.json", "train.py"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    return json.loads((folder / "s.json").read_text())


def test_a_session_has_the_documented_fields(session):
    assert_documented(session, "field")
    assert_documented(session["totals"], "field of totals")
    assert len(session["sites"]) >= 3
    for site in session["sites"]:
        assert_documented(site, "field of a site")


def test_its_numbers_belong_together(session):
    counted = [site for site in session["sites"] if not site["allowed"]]
    totals = session["totals"]
    assert session["steps"] == 4
    assert totals["count"] == sum(site["count"] for site in counted) == sum(totals["by_kind"].values())
    assert totals["explicit"] + totals["implicit"] == totals["count"]
    assert totals["allowed"] == 4
    assert totals["per_step"] == sum(site["in_steps"] for site in counted) / 3
    read = next(site for site in counted if site["op"] == "torch.Tensor.item")
    assert (read["path"], read["rule"], read["stack"][0]) == ("train.py", "SW101", f"train.py:{read['line']} <module>")
    assert sorted(session["sites"], key=lambda site: site["allowed"]) == session["sites"]

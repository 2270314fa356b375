"""The wheel and the sdist, installed into clean environments: the command works and finds every rule."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import sysconfig
import tarfile
import venv
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


@pytest.fixture(scope="module")
def rules() -> set[str]:
    """The file names of the rules of this checkout."""
    return {path.name for path in (ROOT / "rules").glob("SW*.md")}


def run(*command: str | Path, cwd: Path, status: int = 0) -> str:
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    words = [str(word) for word in command]
    done = subprocess.run(words, cwd=cwd, env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == status, f"{command}\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}"
    return done.stdout


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The sdist of this checkout, and the wheel that is made from the sdist."""
    folder = tmp_path_factory.mktemp("dist")
    run(sys.executable, "-m", "build", "--no-isolation", "--outdir", folder, ROOT, cwd=folder)
    (wheel,) = folder.glob("*.whl")
    (sdist,) = folder.glob("*.tar.gz")
    return {"wheel": wheel, "sdist": sdist}


def test_the_wheel_holds_the_package_and_the_rules_only(built: dict[str, Path], rules: set[str]) -> None:
    names = zipfile.ZipFile(built["wheel"]).namelist()
    assert {name.split("/")[0] for name in names if ".dist-info/" not in name} == {"syncwatch"}
    assert {Path(name).name for name in names if name.startswith("syncwatch/rules/SW")} == rules
    assert "syncwatch/py.typed" in names
    assert not [name for name in names if name.endswith((".pyc", ".orig"))]


def test_the_sdist_holds_what_its_tests_need(built: dict[str, Path], rules: set[str]) -> None:
    with tarfile.open(built["sdist"]) as archive:
        names = {"/".join(Path(name).parts[1:]) for name in archive.getnames()}
    for needed in ("pyproject.toml", "README.md", "LICENSE", "tests/test_packaging.py", ".pre-commit-hooks.yaml"):
        assert needed in names
    assert {Path(name).name for name in names if name.startswith("rules/SW")} == rules


@pytest.mark.parametrize("sort", ["wheel", "sdist"])
def test_what_is_installed_works(built: dict[str, Path], rules: set[str], sort: str, tmp_path: Path) -> None:
    home = tmp_path / "environment"
    venv.create(home, with_pip=False)
    folder = "Scripts" if sys.platform == "win32" else "bin"
    python = home / folder / "python"
    site = Path(run(python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))", cwd=tmp_path).strip())
    # the dependencies come from the environment of the tests; a folder on the path brings no editable installs along
    (site / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")
    pip = (sys.executable, "-m", "pip", "--python", python, "--disable-pip-version-check", "install", "--quiet")
    run(*pip, "--no-deps", "--no-build-isolation", built[sort], cwd=tmp_path)

    where = run(python, "-c", "import syncwatch; print(syncwatch.__file__)", cwd=tmp_path).strip()
    assert Path(where).is_relative_to(site), "the installed package is the one that runs"
    command = home / folder / "syncwatch"
    found = json.loads(run(command, "rules", "--output-format", "json", cwd=tmp_path))["rules"]
    assert {Path(rule["path"]).name for rule in found} == rules
    assert all(Path(rule["path"]).is_relative_to(site) for rule in found)
    assert run(command, "--version", cwd=tmp_path).startswith("syncwatch ")
    (tmp_path / "train.py").write_text(
        'import torch\nx = torch.rand(3, device="cuda")\nfor step in range(3):\n    y = x.sum().item()\n'
    )
    report = json.loads(run(command, "check", "train.py", "--output-format", "json", cwd=tmp_path, status=1))
    assert [(finding["line"], finding["rule"]) for finding in report["findings"]] == [(4, "SW101")]

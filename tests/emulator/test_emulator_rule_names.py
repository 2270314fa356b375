"""A recorded site carries the rule that the static check names for the same line."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

import syncwatch
from syncwatch import catalog
from syncwatch.cli.sessions import name_rules
from syncwatch.model import Session

BLOCKS = {
    f"{rule.id}_{number}": block
    for rule in catalog.load()
    if not rule.requires
    for number, block in enumerate(catalog.read_document(rule).blocks)
    if block.tag == "bad"
}


@pytest.fixture
def rules(run):
    """Runs a program on the emulated device; returns the rules of its sites by line."""

    def rules(code: str) -> dict[int, set[str | None]]:
        _, sites = run(code)
        session = name_rules(Session(device="emulated", device_name="", torch="", command=[], sites=sites))
        named: dict[int, set[str | None]] = {}
        for site in session.sites:
            named.setdefault(site.line, set()).add(site.rule)
        return named

    return rules


@pytest.fixture(scope="module")
def checked(tmp_path_factory) -> dict[str, dict[int, set[str]]]:
    """The rules that the static check names, by program and line."""
    folder = tmp_path_factory.mktemp("blocks")
    for name, block in BLOCKS.items():
        (folder / f"{name}.py").write_text(block.code, encoding="utf-8")
    found: dict[str, dict[int, set[str]]] = {}
    for finding in syncwatch.check([folder]).findings:
        for line in range(finding.line, (finding.end_line or finding.line) + 1):
            found.setdefault(Path(finding.path).stem, {}).setdefault(line, set()).add(finding.rule)
    return found


@pytest.mark.parametrize("name", BLOCKS)
def test_the_static_check_and_the_run_name_one_rule(rules, checked, name, capsys):
    named = rules(BLOCKS[name].code)
    for line in BLOCKS[name].marks:
        static = checked.get(name, {}).get(line)
        if static and line in named:
            assert named[line] & static, f"line {line}: {BLOCKS[name].code.splitlines()[line - 1].strip()}"


@pytest.mark.parametrize(
    ("line", "rule"),
    [
        ("if t: pass", "SW102"),
        ("while not t: break", "SW102"),
        ("y = 1 if t > 0 else 2", "SW102"),
        ("y = [n for n in range(2) if t]", "SW102"),
        ("y = 0 < t < 2", "SW102"),
        ("y = max(t, u)", "SW102"),
        ("y = bool(t)", "SW102"),
        ("y = t in [u, t]", "SW102"),
        ("y = f'{t:.2f}'", "SW103"),
        ("y = '%.2f' % t", "SW103"),
        ("y = '{}'.format(t)", "SW103"),
        ("y = str(t)", "SW103"),
        ("print(t)", "SW103"),
        ("y = f'{t.item()}'", "SW101"),
        ("y = float(t)", "SW101"),
        ("y = t.item() if True else 0", "SW101"),
        ("y = torch.ones(3).cuda()", "SW203"),
        ("y = host.cuda()", "SW201"),
        ("y = t.cpu().add(1).cuda()", "SW207"),
    ],
)
def test_a_line_is_named_by_its_syntax(rules, line, rule, capsys):
    program = f'import torch\nt = torch.ones((), device="cuda")\nu = t + 1\nhost = torch.ones(3)\n{line}\n'
    assert rule in rules(program)[5]


def test_a_session_keeps_the_syntax_of_its_sites(run):
    _, sites = run('import torch\nt = torch.ones((), device="cuda")\nif t: pass\n')
    assert [site.via for site in sites] == ["if"]
    assert msgspec.json.decode(msgspec.json.encode(sites[0]))["via"] == "if"

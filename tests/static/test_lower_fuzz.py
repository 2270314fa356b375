"""Lowering takes any text: a form with right positions, or one clear problem; no crash, no hang.

A few hundred inputs run here; `tests/bench/bench_static_fuzz.py` runs thousands.
"""

from __future__ import annotations

import contextlib
import json
from pathlib import Path
from types import ModuleType

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import syncwatch
from syncwatch.static import ir
from syncwatch.static.errors import SyntaxProblem
from syncwatch.static.lower import lower
from syncwatch.static.notebook import read_notebook
from syncwatch.static.source import decode

PACKAGE = sorted(Path(syncwatch.__file__).parent.rglob("*.py"))

QUICK = settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))


def form_or_problem(source: str) -> ir.Module | SyntaxProblem:
    """What lowering makes of a text. Any other exception fails the test."""
    try:
        return lower(source, "a.py")
    except SyntaxProblem as problem:
        return problem


# Small programs put together from the grammar.
NAMES = st.sampled_from(["x", "loss", "é", "_", "device"])
LITERALS = st.sampled_from(["1", "1.5", "'a'", "b'b'", "None", "...", '"""\nlong"""', "f'{x}'", "f'''{\nx!r:>{y}}'''"])
EXPRESSIONS = st.recursive(
    NAMES | LITERALS,
    lambda inner: st.one_of(
        st.builds("{}.{}".format, st.builds("({})".format, inner), NAMES),
        st.builds("{}({}, *{}, k={})".format, NAMES, inner, inner, inner),
        st.builds("({})[{}:{}, {}]".format, inner, inner, inner, inner),
        st.builds("({} {} {})".format, inner, st.sampled_from(["+", "@", "and", "or", "<", "is not", "**"]), inner),
        st.builds("(not {})".format, inner),
        st.builds("({} if {} else {})".format, inner, inner, inner),
        st.builds("[{} for {} in {} if {}]".format, inner, NAMES, inner, inner),
        st.builds("{{{}: {}, **{}}}".format, inner, inner, NAMES),
        st.builds("(lambda {}, *a: {})".format, NAMES, inner),
        st.builds("({},\n {})".format, inner, inner),
        st.builds("({} := {})".format, NAMES, inner),
    ),
    max_leaves=12,
)


@st.composite
def programs(draw: st.DrawFn, depth: int = 2) -> str:
    lines = []
    for _ in range(draw(st.integers(1, 4))):
        kind = draw(st.integers(0, 9 if depth else 3))
        value = draw(EXPRESSIONS)
        if kind == 0:
            lines.append(value)
        elif kind == 1:
            lines.append(f"{draw(NAMES)} = {value}  # noqa: SW101")
        elif kind == 2:
            lines.append(f"{draw(NAMES)} += {value}; pass")
        elif kind == 3:
            lines.append(f"assert {value}, {draw(EXPRESSIONS)}")
        else:
            head = draw(
                st.sampled_from(
                    [
                        "if {}:",
                        "while {}:",
                        "for i, *j in {}:",
                        "with {} as k:",
                        "@{}\nasync def f(a, /, b=1, *, c):",
                        "class A({}):",
                    ]
                )
            )
            body = draw(programs(depth - 1))
            lines.append(head.format(f"({value})"))
            lines += ["    " + line for line in body.split("\n")] if '"""' not in body and "'''" not in body else []
            if lines[-1].endswith(":"):
                lines.append("    pass")
    return "\n".join(lines)


@QUICK
@given(source=programs())
def test_programs_from_the_grammar_are_lowered_to_the_letter(forms: ModuleType, source: str) -> None:
    module = lower(source, "a.py")
    assert forms.misplaced(source) == []
    assert msgspec.msgpack.decode(msgspec.msgpack.encode(module), type=ir.Module) == module


@QUICK
@given(seed=st.integers(0, 2**32), path=st.sampled_from(PACKAGE))
def test_mutated_source_gives_a_form_or_a_problem(forms: ModuleType, mutate: ModuleType, seed: int, path: Path) -> None:
    source = mutate.piece(path.read_text(encoding="utf-8"), seed)
    module = form_or_problem(source)
    if isinstance(module, SyntaxProblem):
        assert 0 <= module.line <= source.count("\n") + source.count("\r") + 2
        assert module.message
    else:
        assert forms.misplaced(source.replace("\r\n", "\n").replace("\r", "\n")) == []
        assert all(first <= last <= module.lines + 1 for first, last in module.statements)


@QUICK
@given(source=st.text(max_size=80))
def test_any_text(source: str) -> None:
    assert form_or_problem(source)


@QUICK
@given(data=st.binary(max_size=80) | st.text(max_size=40).map(lambda text: f"# coding: {text}\n".encode()))
def test_any_bytes(data: bytes) -> None:
    with contextlib.suppress(SyntaxProblem):
        assert isinstance(decode(data), str)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.sampled_from(["cells", "source", "cell_type", "worksheets", "metadata", "code"]), inner)
    ),
    max_leaves=12,
)


@QUICK
@given(content=JSON)
def test_any_json_as_a_notebook(content: object) -> None:
    with contextlib.suppress(SyntaxProblem):
        assert isinstance(read_notebook(json.dumps(content).encode()).source, str)


@pytest.mark.parametrize(
    "source",
    [
        "x = " + "(" * 5_000 + ")" * 5_000,
        "x = " + "[" * 150 + "]" * 150,
        "x = " + "not " * 3_000 + "y",
        "x = " + "lambda: " * 3_000 + "y",
        "x = " + "a if b else " * 3_000 + "c",
        "x = " + "f(" * 190 + ")" * 190,
        "x = a" + ".b()" * 3_000,
        "".join("  " * depth + f"if x{depth}:\n" for depth in range(95)) + "  " * 95 + "pass\n",
        "".join(" " * depth + "if x:\n" for depth in range(3_000)) + " " * 3_000 + "pass\n",
        "type X = " + "[" * 90 + "]" * 90,
        "type X = " + "-" * 1_500 + "1",
        "try: pass\nexcept* E: x = " + "not " * 3_000 + "y",
        "print " + "(" * 3_000,
        "def f[T](): x = a" + ".b()" * 300,
    ],
    ids=lambda source: source[:24],
)
def test_deep_nesting_ends_in_a_form_or_a_problem(source: str) -> None:
    assert form_or_problem(source)

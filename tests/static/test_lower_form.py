"""What the intermediate form of a text is."""

from __future__ import annotations

import sys

import msgspec
import pytest

from syncwatch.static import ir
from syncwatch.static.lower import SyntaxProblem, lower


def statement(source: str) -> ir.Stmt:
    """The one statement of a text."""
    (only,) = lower(source, "a.py").body
    return only


def expression(source: str) -> ir.Expr:
    """The form of an expression."""
    result = statement(source)
    assert isinstance(result, ir.ExprStmt)
    return result.value


def test_a_method_call() -> None:
    call = expression("loss.item()")
    assert call == ir.Call((1, 0, 1, 11), ir.Attr((1, 0, 1, 9), ir.Name((1, 0, 1, 4), "loss"), "item"), ())


def test_arguments_keep_their_names_and_stars() -> None:
    call = expression("f(a, *b, c=1, **d)")
    assert isinstance(call, ir.Call)
    assert [(each.name, each.star) for each in call.args] == [("", ""), ("", "*"), ("c", ""), ("", "**")]


def test_a_sum_of_many_terms_leans_to_the_left() -> None:
    total = expression("a + b + c")
    assert isinstance(total, ir.Binary)
    assert isinstance(total.left, ir.Binary)
    assert total.pos == (1, 0, 1, 9)
    assert total.left.pos == (1, 0, 1, 5)


def test_an_elif_is_an_if_alone_in_orelse() -> None:
    chain = statement("if a: x\nelif b: y\nelse: z\n")
    assert isinstance(chain, ir.If)
    (second,) = chain.orelse
    assert isinstance(second, ir.If)
    assert second.pos == (2, 0, 3, 7)
    assert [type(each) for each in second.orelse] == [ir.ExprStmt]


@pytest.mark.parametrize(
    ("source", "kinds"),
    [
        ("def f(): pass", []),
        ("def f(a, /, b=1, *c, d, **e): pass", ["positional", "normal", "*", "keyword", "**"]),
        ("def f(*, d): pass", ["keyword"]),
    ],
)
def test_parameters(source: str, kinds: list[str]) -> None:
    function = statement(source)
    assert isinstance(function, ir.Function)
    assert [each.kind for each in function.params] == kinds


@pytest.mark.parametrize(
    ("body", "generator"),
    [
        ("yield 1", True),
        ("x = yield", True),
        ("yield from y", True),
        ("def g(): yield", False),
        ("return lambda: (yield)", False),
        ("return (x for x in y)", False),
    ],
)
def test_a_function_that_yields_itself_is_a_generator(body: str, generator: bool) -> None:
    function = statement(f"def f():\n    {body}\n")
    assert isinstance(function, ir.Function)
    assert function.is_generator is generator


def test_decorators_lie_outside_a_function_s_position() -> None:
    function = statement("@torch.no_grad()\n@other\ndef f(): pass\n")
    assert isinstance(function, ir.Function)
    assert len(function.decorators) == 2
    assert function.pos == (3, 0, 3, 13)


def test_docstrings_are_dropped() -> None:
    function = statement('def f():\n    """Says what it does."""\n    return 1\n')
    assert isinstance(function, ir.Function)
    assert [type(each) for each in function.body] == [ir.Return]


@pytest.mark.parametrize(
    ("literal", "kind", "value"),
    [
        ("1", "int", 1),
        ("0x10", "int", 16),
        ("9999999999999999999999", "int", None),
        ("1.5", "float", 1.5),
        ("2j", "complex", None),
        ("'a' 'b'", "str", "ab"),
        (r"'\ud800'", "str", None),
        ("b'x'", "bytes", None),
        ("True", "bool", True),
        ("None", "none", None),
        ("...", "...", None),
    ],
)
def test_literals(literal: str, kind: str, value: object) -> None:
    constant = expression(f"f({literal})")
    assert isinstance(constant, ir.Call)
    argument = constant.args[0].value
    assert isinstance(argument, ir.Const)
    assert (argument.kind, argument.value) == (kind, value)


def test_an_f_string_holds_texts_and_fields() -> None:
    string = expression("f'loss {loss:.3f} at {step!r}'")
    assert isinstance(string, ir.FString)
    texts = [each if isinstance(each, str) else type(each.value).__name__ for each in string.parts]
    assert texts == ["loss ", "Name", " at ", "Name"]
    first, second = [each for each in string.parts if isinstance(each, ir.FPart)]
    assert isinstance(first.spec, ir.FString)
    assert first.spec.parts == (".3f",)
    assert first.pos == (1, 7, 1, 17)
    assert second.conversion == "r"


def test_fields_stand_in_their_place_in_long_strings() -> None:
    source = 'x = (\n    f"{a} é"  # {not} a field\n    "{nor} this"\n    rf"""\n  {b["k"]:>{w}} {{}} {c != d}"""\n)\n'
    assign = statement(source)
    assert isinstance(assign, ir.Assign)
    assert isinstance(assign.value, ir.FString)
    places = [each.pos for each in assign.value.parts if isinstance(each, ir.FPart)]
    assert places == [(2, 6, 2, 9), (5, 2, 5, 15), (5, 21, 5, 29)]


def test_columns_count_characters() -> None:
    assign = statement("größe = x.item()")
    assert isinstance(assign, ir.Assign)
    assert assign.value.pos == (1, 8, 1, 16)


@pytest.mark.parametrize(
    ("source", "spans"),
    [
        ("a = (\n1,\n)\nb\n", [(1, 3), (4, 4)]),
        ("if x:\n    y\n", [(1, 1), (2, 2)]),
        ("if (x and\n    y\n   ):  # why: so\n    # note\n    z\n", [(1, 3), (5, 5)]),
        ("def f(\n    a,\n    *,\n    b: int = 1,  # :\n) -> None:\n    '''Text.'''\n", [(1, 5), (6, 6)]),
        ("@deco\nclass A(\n    B\n):\n    x = 1\n", [(1, 4), (5, 5)]),
        ("def f(): return 1\n", [(1, 1), (1, 1)]),
    ],
)
def test_the_lines_of_statements(source: str, spans: list[tuple[int, int]]) -> None:
    assert list(lower(source, "a.py").statements) == spans


@pytest.mark.parametrize(
    ("source", "line", "words"),
    [
        ("x = 1\ndef f(:\n", 2, "invalid syntax"),
        ("print 'a'\n", 1, "Missing parentheses"),
        ("x = 'a\n", 1, "unterminated"),
        ("a = 1\n  b = 2\n", 2, "indent"),
        ("\0", 1, "null byte"),
        (r"x = f'\N{no such character}{y}'", 1, "unicode error"),
    ],
)
def test_what_is_no_python_is_told_with_its_line(source: str, line: int, words: str) -> None:
    with pytest.raises(SyntaxProblem) as caught:
        lower(source, "a.py")
    assert caught.value.line == line
    assert words in caught.value.message


def test_code_that_is_nested_too_deeply_is_told() -> None:
    with pytest.raises(SyntaxProblem, match="nested"):
        lower("x = " + "-" * 20_000 + "1", "a.py")


def test_long_chains_are_not_nested() -> None:
    terms = " + ".join(["x"] * 900)
    branches = "if a: pass\n" + "".join(f"elif a == {index}: pass\n" for index in range(900))
    if sys.version_info < (3, 11):  # its parser nests deeper
        terms, branches = terms[:400], branches[:400].rpartition("\n")[0]
    assert len(lower(f"y = {terms}\n", "a.py").body) == 1
    assert len(lower(branches, "a.py").body) == 1


def test_a_file_of_ten_thousand_lines() -> None:
    source = "def f(x):\n    return x.item()\n" * 5_000
    module = lower(source, "a.py")
    assert module.lines == 10_000
    assert len(module.body) == 5_000


def test_the_form_survives_the_cache(forms) -> None:  # type: ignore[no-untyped-def]
    module = lower(forms.EVERYTHING, "a.py")
    assert msgspec.msgpack.decode(msgspec.msgpack.encode(module), type=ir.Module) == module

"""The types that docstrings give to parameters, in both lowerings."""

from __future__ import annotations

import ast

import pytest

from syncwatch.static.lower.concrete_statements import parse_concrete
from syncwatch.static.lower.statements import StatementLowering

SOURCES = {
    "numpy": '''
def f(x, lengths, n: int, rest):
    """Does.

    Arguments
    ---------
    x : torch.Tensor
        the input
    lengths: list of int
    n : float
    """
''',
    "google": '''
def f(x, lengths, n: int, rest):
    """Does.

    Args:
        x (torch.Tensor): the input
        lengths (list of int): of each
    """
''',
    "sphinx": '''
def f(x, lengths, n: int, rest):
    """Does.

    :param torch.Tensor x: the input
    :param lengths: of each
    :type lengths: list of int
    """
''',
}


@pytest.mark.parametrize("source", SOURCES.values(), ids=SOURCES)
def test_documented_types(source: str) -> None:
    wanted = (("x", "torch.Tensor"), ("lengths", "list of int"))
    assert StatementLowering(source).block(ast.parse(source).body)[0].documented == wanted
    assert parse_concrete(source)[0][0].documented == wanted

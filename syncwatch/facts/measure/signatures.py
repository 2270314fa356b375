"""Writes `ops/silent.py`: the operations known only to enqueue work, with the parameters that are host numbers.

`python -m syncwatch.facts.measure.signatures` reads the names that the file holds and renews their signatures from the
installed PyTorch. A parameter is a host number where every overload of the operator wants a number: a CUDA tensor
given for it is read.
"""

from __future__ import annotations

import inspect
import re
import textwrap
from pathlib import Path
from typing import Any

import torch

from syncwatch.facts.ops import silent

PATH = Path(silent.__file__)
_HOST = re.compile(r"^(Optional\[)?(List\[)?(int|float|number|SymInt)\]*$")

_ENUMS = frozenset({"dtype", "layout", "memory_format"})  # numbers to the dispatcher only


def schema_signature(name: str) -> str | None:
    """`input dim! keepdim` for an operator of aten; None where aten has none of this name."""
    overloads = [
        schema
        for schema in torch._C._jit_get_schemas_for_operator(f"aten::{name}")
        if not any(argument.name == "out" for argument in schema.arguments)
        and not any("Dimname" in str(argument.type) or str(argument.type) == "str" for argument in schema.arguments)
        and str(schema.arguments[0].type if schema.arguments else "") == "Tensor"
    ]
    if not overloads:
        return None
    kinds: dict[str | int, set[bool]] = {}  # by name and by position: an overload can want a tensor in either
    for schema in overloads:
        for position, argument in enumerate(schema.arguments):
            host = argument.name not in _ENUMS and _HOST.match(str(argument.type)) is not None
            tensor = "Tensor" in str(argument.type)
            kinds.setdefault(argument.name, set()).add(host)
            kinds.setdefault(position, set()).add(not tensor)
    order = max(overloads, key=lambda schema: len(schema.arguments)).arguments
    words = []
    for position, argument in enumerate(order):
        shown = "input" if argument.name == "self" else argument.name
        words.append(shown + ("!" if kinds[argument.name] == {True} and kinds[position] == {True} else ""))
    return " ".join(words)


def python_signature(function: Any) -> str | None:
    """The same for a Python function, from its annotations; None where it has none."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return None
    words = []
    for parameter in parameters:
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            break
        note = str(parameter.annotation)
        host = re.search(r"float|int", note) is not None and "Tensor" not in note and parameter.name not in _ENUMS
        words.append(parameter.name + ("!" if host else ""))
    return " ".join(words) or None


def lines() -> dict[str, list[str]]:
    """Section → lines of the file to write."""
    found: dict[str, list[str]] = {}
    for section, names in silent.names().items():
        for name in names:
            signature: str | None = None
            if section in ("torch", "torch.Tensor"):
                signature = schema_signature(name)
            elif section == "torch.nn.functional":
                signature = python_signature(getattr(torch.nn.functional, name)) or schema_signature(name)
            found.setdefault(section, []).append(f"{name} {signature or 'input'}")
    return found


def main() -> None:
    text = PATH.read_text(encoding="utf-8")
    head = text[: text.index(f"\n{silent.MARK}\n")] + f"\n{silent.MARK}\n"
    parts = []
    for section, rows in lines().items():
        if all(row.endswith(" input") for row in rows):
            body = "\n".join(textwrap.wrap("; ".join(row.split()[0] for row in rows), 116, break_on_hyphens=False))
        else:
            body = "\n".join(textwrap.wrap("; ".join(row.removesuffix(" input") for row in rows), 116))
        parts.append(f'SECTIONS["{section}"] = """\n{body}\n"""\n')
    PATH.write_text(head + "\n".join(parts), encoding="utf-8")


if __name__ == "__main__":
    main()

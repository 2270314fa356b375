"""The types that a docstring gives to parameters, where it says them in one of the usual ways."""

from __future__ import annotations

import re
from collections.abc import Sequence

from syncwatch.static import ir

# numpy's `name : type`, Google's `name (type): …`, Sphinx' `:type name: type` and `:param type name: …`
_FORMS = re.compile(
    r"^[ \t]*\*{0,2}(?P<numpy>\w+)[ \t]*:[ \t]*(?P<numpy_type>[^\n]{1,60})$"
    r"|^[ \t]*[-*]*[ \t]*`?(?P<google>\w+)`?[ \t]*\((?P<google_type>[^()\n]{1,60}(?:\([^()\n]*\)[^()\n]*)?)\)[ \t]*:"
    r"|^[ \t]*:type[ \t]+(?P<sphinx>\w+):[ \t]*(?P<sphinx_type>[^\n]{1,60})$"
    r"|^[ \t]*:param[ \t]+(?P<param_type>[\w.\[\], ]{1,60}?)[ \t]+(?P<param>\w+):",
    re.MULTILINE,
)


def documented_types(docstring: str | None, params: Sequence[ir.Param]) -> tuple[tuple[str, str], ...]:
    """The (name, text of the type) of parameters without an annotation that a docstring describes so.

    The text is as it stands there, and may be a sentence where a description looks like a type.
    """
    if not docstring or ":" not in docstring:
        return ()
    names = [p.name for p in params if p.annotation is None]
    wanted = [name for name in names if name in docstring and name not in ("self", "cls")]
    if not wanted:
        return ()
    found: dict[str, str] = {}
    for match in _FORMS.finditer(docstring):
        for form in ("numpy", "google", "sphinx", "param"):
            name = match[form]
            if name in wanted and name not in found:
                found[name] = match[f"{form}_type"].strip()
    return tuple(found.items())

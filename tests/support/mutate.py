"""Inputs for fuzzing the lowering: real source, mutated, and made-up source."""

from __future__ import annotations

import random
import textwrap

# Words that join grammar in unusual ways.
_SPLICES = (
    "(", ")", "[", "]", "{", "}", ":", ",", ".", "=", ":=", "*", "**", "@", "->", ";", "\\\n", "\n", "\n    ", "\t",
    "f'{", "}'", "'''", '"', "'", "#", "# noqa", "# syncwatch: ignore", "lambda", "yield", "await ", "async ", "not ",
    "def f(", "class ", "if x:", "elif ", "else:", "match x:\n    case ", "try:", "except* ", "with ", "for ", "in ",
    "import ", "from . ", "global x", "é", "\u2028", "\f", "\r", "\0", "\ufeff", "0x", "1e", "...", "!r", "{{", "type ",
)  # fmt: skip


def mutated(source: str, seed: int) -> str:
    """A text with a few random changes: pieces cut, doubled, moved, or words put in."""
    rng = random.Random(seed)
    for _ in range(rng.choice((1, 1, 1, 2, 4))):
        if not source:
            break
        start = rng.randrange(len(source))
        end = min(len(source), start + int(rng.expovariate(1 / 12)) + 1)
        kind = rng.randrange(6)
        if kind == 0:
            source = source[:start] + source[end:]
        elif kind == 1:
            source = source[:end] + source[start:end] * rng.choice((1, 2, 50)) + source[end:]
        elif kind == 2:
            at = rng.randrange(len(source))
            source = source[:at] + source[start:end] + source[at:]
        elif kind == 3:
            source = source[:start] + rng.choice(_SPLICES) * rng.choice((1, 1, 1, 3, 300)) + source[start:]
        elif kind == 4:
            lines = source.split("\n")
            rng.shuffle(lines[(at := rng.randrange(len(lines))) : at + 5])
            line = rng.randrange(len(lines))
            lines[line] = " " * rng.randrange(12) + lines[line].lstrip()
            source = "\n".join(lines)
        else:
            source = source[:start] + chr(rng.choice((rng.randrange(128), rng.randrange(0x3000)))) + source[end:]
    return source


def piece(source: str, seed: int, lines: int = 60) -> str:
    """A run of lines of a text that begins with a definition, mutated."""
    rng = random.Random(seed)
    every = source.split("\n")
    heads = ("def ", "class ", "@", "import ")
    starts = [number for number, line in enumerate(every) if line.lstrip().startswith(heads)]
    start = rng.choice(starts) if starts else 0
    indent = len(every[start]) - len(every[start].lstrip())
    inner = " " * (indent + 1)
    end = start + 1
    while end < min(len(every), start + lines) and (not every[end].strip() or every[end].startswith(inner)):
        end += 1
    return mutated(textwrap.dedent("\n".join(every[start:end])) + "\n", seed)

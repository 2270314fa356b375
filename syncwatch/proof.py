"""On which GPU a rule's programs were last proved: rules/proof.json, which `tests/gpu/prove.py` writes."""

from __future__ import annotations

import hashlib
from functools import lru_cache
from typing import NamedTuple

import msgspec

from syncwatch.catalog import Document, builtin_folder

FILE = "proof.json"


class Proof(NamedTuple):
    """How many programs of a rule did on a GPU what their marks say, and when that was."""

    gpu: str
    torch: str
    date: str
    programs: int
    proved: int

    def __str__(self) -> str:
        device = f"{self.gpu}, torch {self.torch.partition('+')[0]}, {self.date}"
        if self.proved == self.programs:
            return f"proven on {device}: {self.programs} programs"
        return f"{self.proved} of {self.programs} programs proven on {device}"


class _Counts(msgspec.Struct):
    programs: int
    proved: int
    digest: str


class _File(msgspec.Struct):
    gpu: str
    torch: str
    date: str
    rules: dict[str, _Counts]


def proof(document: Document) -> Proof | None:
    """The last proof of a rule; None where there is none, or where the rule's programs have changed since."""
    file = _read()
    counts = file.rules.get(document.rule.id) if file is not None else None
    if file is None or counts is None or counts.digest != digest(document):
        return None
    return Proof(file.gpu, file.torch, file.date, counts.programs, counts.proved)


def digest(document: Document) -> str:
    """Identifies the programs of a rule."""
    text = "\0".join(f"{block.tag}\n{block.code}" for block in document.blocks)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


@lru_cache(maxsize=1)
def _read() -> _File | None:
    path = builtin_folder() / FILE
    try:
        return msgspec.json.decode(path.read_bytes(), type=_File)
    except (OSError, msgspec.DecodeError):
        return None

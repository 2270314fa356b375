"""The vocabulary that all engines share: plain data, JSON in and out.

Lines and columns count from 1; `end_column` is exclusive. Paths are written with forward slashes. Nothing here
imports anything else of the package.
"""

from __future__ import annotations

from enum import Enum
from typing import TypedDict, TypeVar

import msgspec

SCHEMA_VERSION = 1


class Kind(str, Enum):
    """What happens to the host (or what is prepared wrongly), in the field's terms."""

    SCALAR_READ = "scalar-read"
    TENSOR_READ = "tensor-read"
    UPLOAD = "upload"
    PAGEABLE_ASYNC = "pageable-async"
    DYNAMIC_SHAPE = "dynamic-shape"
    DEVICE_WAIT = "device-wait"
    STREAM_WAIT = "stream-wait"
    EVENT_WAIT = "event-wait"
    ALLOCATOR = "allocator"
    SOLVER = "solver"
    COLLECTIVE = "collective"
    # Hazards that wait too little, or prepare too little: they do not block by themselves.
    EARLY_READ = "early-read"
    UNORDERED_STREAMS = "unordered-streams"
    UNPINNED_LOADER = "unpinned-loader"
    HOST_CREATED = "host-created"
    DEFAULT_DEVICE = "default-device"
    # No event of a program: a comment that suppresses findings is itself at fault (SW000).
    SUPPRESSION = "suppression"

    @property
    def blocks(self) -> bool:
        """Whether an event of this kind stops the host by itself."""
        return self not in _SILENT_KINDS


_SILENT_KINDS = frozenset(
    {
        Kind.PAGEABLE_ASYNC,
        Kind.EARLY_READ,
        Kind.UNORDERED_STREAMS,
        Kind.UNPINNED_LOADER,
        Kind.HOST_CREATED,
        Kind.DEFAULT_DEVICE,
        Kind.SUPPRESSION,
    }
)


class Heat(str, Enum):
    """How often a site runs."""

    SETUP = "setup"
    EPOCH = "epoch"
    STEP = "step"
    GUARDED = "guarded"


class Certainty(str, Enum):
    """How sure the static engine is that the site waits for a device."""

    CERTAIN = "certain"
    LIKELY = "likely"
    POSSIBLE = "possible"


class Site(msgspec.Struct, frozen=True, kw_only=True):
    """A place in a source file. `function` is the qualified name inside the file, "" at module level."""

    path: str
    line: int
    column: int = 1
    end_line: int = 0
    end_column: int = 0
    function: str = ""


class Event(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One thing that happens, or can happen, at one site.

    `op` is the operation's public name (`torch.Tensor.item`, `torch.cuda.synchronize`); operations that Python
    syntax implies carry the method that it calls (`torch.Tensor.__bool__`). `via` names the syntax or the call that
    led there ("if", "while", "print", "f-string", "call", …). `subject` is the source text of the value concerned.
    `explicit` is true where the code asks for the wait in so many words (item, cpu, tolist, synchronize).
    """

    kind: Kind
    op: str
    site: Site
    explicit: bool = False
    via: str = "call"
    subject: str = ""
    # words that complete the rule's message, such as the condition of the facts table that holds
    detail: str = ""
    certainty: Certainty = Certainty.CERTAIN
    heat: Heat = Heat.STEP
    # what a running program adds
    count: int = 1
    wait_ms: float | None = None
    rank: int | None = None
    stack: tuple[str, ...] = ()
    allowed: bool = False
    reason: str = ""


class Fix(msgspec.Struct, frozen=True, kw_only=True):
    """A repair that the tool can make. `safe` repairs do not change what the program computes."""

    message: str
    safe: bool


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """An event that a rule selected. The field names are the contract of `--output-format json`."""

    path: str
    line: int
    column: int
    end_line: int
    end_column: int
    rule: str
    name: str
    kind: Kind
    op: str
    message: str
    certainty: Certainty
    heat: Heat
    function: str
    fix: Fix | None = None


class Problem(msgspec.Struct, frozen=True, kw_only=True):
    """A file that could not be checked, and why."""

    path: str
    line: int
    message: str


class SiteCount(msgspec.Struct, frozen=True, kw_only=True):
    """What a running program did at one site. `wait_ms` is None where the wait could not be timed."""

    path: str
    line: int
    function: str
    kind: Kind
    op: str
    rule: str | None = None
    count: int
    wait_ms: float | None = None
    allowed: bool = False
    reason: str = ""
    explicit: bool = False
    in_steps: int = 0  # of `count`, after the first step and before the end of the last
    stack: tuple[str, ...] = ()  # innermost frame first
    via: str = "call"  # as in `Event`, by which `rule` was chosen


class Totals(TypedDict, total=False):
    """Sums over the sites of a session; those that were allowed are in `allowed` alone.

    `wait_ms` sums what could be timed, `untimed` counts what could not. `per_step` is the mean over the steps after
    the first, None where fewer than two were seen.
    """

    count: int
    explicit: int
    implicit: int
    allowed: int
    wait_ms: float | None
    untimed: int
    by_kind: dict[str, int]
    per_step: float | None


class Session(msgspec.Struct, kw_only=True):
    """A recorded run: the file between `syncwatch run` and `syncwatch report`.

    `device` is "cuda" or "emulated".
    """

    schema_version: int = SCHEMA_VERSION
    device: str
    device_name: str
    torch: str
    command: list[str]
    rank: int = 0
    world_size: int = 1
    steps: int = 0
    sites: list[SiteCount] = msgspec.field(default_factory=list)
    totals: Totals = msgspec.field(default_factory=lambda: Totals())
    # sentences that limit what the numbers mean: "stderr of torch held 3 warnings that have no site"
    limits: list[str] = msgspec.field(default_factory=list)


T = TypeVar("T")


class BrokenFile(ValueError):
    """A file of ours that cannot be read: the message names the file and says what is wrong with it."""


def to_json(value: msgspec.Struct, *, indent: int = 2) -> bytes:
    """The value as UTF-8 JSON, ending in a newline."""
    return msgspec.json.format(msgspec.json.encode(value), indent=indent) + b"\n"


def from_json(data: bytes, kind: type[T], *, name: str, remedy: str = "") -> T:
    """Reads what `to_json` wrote.

    Raises BrokenFile where `data` is no JSON, lacks a field or carries a newer schema; `name` is the file's name
    for the message, and `remedy` says where such files come from.
    """
    try:
        version = msgspec.json.decode(data, type=_Version).schema_version
        if version > SCHEMA_VERSION:
            raise BrokenFile(
                f"{name}: written by a newer syncwatch (schema {version}, this one reads up to {SCHEMA_VERSION}); "
                "upgrade syncwatch to read it"
            )
        return msgspec.json.decode(data, type=kind)
    except msgspec.DecodeError as error:
        hint = f"; {remedy}" if remedy else ""
        raise BrokenFile(f"{name}: not a file that this command can read ({error}){hint}") from None


class _Version(msgspec.Struct):
    schema_version: int = SCHEMA_VERSION

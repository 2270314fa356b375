"""Comments that suppress findings: `# syncwatch: ignore[SW101] reason`, `# noqa: SW101`.

A comment at the end of a line, or inside a statement, counts for the whole statement; one that stands alone counts
for the next statement; `ignore-file` counts for the whole file. A bare `# noqa` is left to other tools.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from syncwatch.model import Certainty, Finding, Fix, Heat, Kind
from syncwatch.repair import Edit
from syncwatch.select import SUPPRESSION, names_rule

_OURS = re.compile(r"#\s*syncwatch:\s*(?P<word>[\w-]*)\s*(?:\[(?P<codes>[^\]]*)\])?(?P<rest>[^#]*)", re.I)
_NOQA = re.compile(
    r"#\s*noqa\s*:\s*(?P<codes>[A-Z][A-Z0-9]*[0-9]+(?:(?:\s*,\s*|\s+)[A-Z][A-Z0-9]*[0-9]+)*)(?P<rest>[^#]*)", re.I
)
_CODE = re.compile(r"[\w-]+")
# what was meant for us and says it otherwise; prose that begins with our name goes on differently
_WITHOUT_COLON = re.compile(r"#\s*syncwatch\s+ignore(?:-file)?\s*(?P<rest>\[[^#]*|$)", re.I)
_BARE_CODE = re.compile(r"[\s:=(]*SW\d", re.I)


class Comment(Protocol):
    """A comment in a file; see `syncwatch.static.ir.Comment`."""

    @property
    def line(self) -> int: ...
    @property
    def column(self) -> int: ...
    @property
    def text(self) -> str: ...
    @property
    def own_line(self) -> bool: ...
    @property
    def target(self) -> int: ...


class Commented(Protocol):
    """What suppression needs of a file; see `syncwatch.static.ir.Module`."""

    @property
    def comments(self) -> Sequence[Comment]: ...
    @property
    def statements(self) -> Sequence[tuple[int, int]]: ...


@dataclass
class Suppression:
    """One comment as understood. `codes` are as written, () for all rules; `first` and `last` are the lines that it
    counts for (0 for the whole file); `text` is what stands from `column` to `end_column`; `trouble` says what is not
    understood; `used` collects the codes that suppressed something."""

    path: str
    line: int
    column: int
    end_column: int
    codes: tuple[str, ...]
    reason: str
    first: int
    last: int
    text: str
    noqa: bool = False
    trouble: str = ""
    used: set[str] = field(default_factory=set)

    def covers(self, finding: Finding) -> bool:
        """Whether the finding lies where the comment counts."""
        return not self.first or self.first <= finding.line <= self.last

    def matching(self, finding: Finding) -> str | None:
        """The code that names the finding's rule, "" where the comment names all, or None."""
        if not self.codes:
            return ""
        return next((code for code in self.codes if names_rule(code, finding.rule, finding.name)), None)

    def without(self, codes: Collection[str]) -> Edit | None:
        """The edit that takes these codes out of the comment, and the comment with the last of them.

        None in a notebook, whose lines are not those of the file.
        """
        if self.path.endswith(".ipynb"):
            return None
        new = ""
        listed = _NOQA.match(self.text) if self.noqa else _OURS.match(self.text)
        if listed is not None and self.codes:
            rest = [code for code in _CODE.findall(listed["codes"]) if code not in codes]
            if rest:
                start, end = listed.span("codes")
                new = f"{self.text[:start]}{', '.join(rest)}{self.text[end:]}"
        return Edit(self.path, self.line, self.column, self.end_column, self.text, new)


def read(path: str, module: Commented, own: Callable[[str], bool]) -> list[Suppression]:
    """The suppressions of one file in order. `own` says whether a word of a `noqa` list is one of our rules."""
    found = []
    starts = sorted(module.statements)
    for comment in module.comments:
        suppression = _parse(path, comment, own)
        if suppression is not None:
            if suppression.first:
                suppression.first, suppression.last = _statement(starts, comment)
            found.append(suppression)
    return found


def apply(findings: Iterable[Finding], suppressions: Iterable[Suppression]) -> tuple[list[Finding], list[Finding]]:
    """The findings that stay and those that are suppressed; marks what each suppression was used for."""
    by_path: dict[str, list[Suppression]] = {}
    for suppression in suppressions:
        if not suppression.trouble:
            by_path.setdefault(suppression.path, []).append(suppression)
    kept: list[Finding] = []
    silenced: list[Finding] = []
    for finding in findings:
        hit = False
        for suppression in by_path.get(finding.path, ()):
            code = suppression.matching(finding) if suppression.covers(finding) else None
            if code is not None:
                suppression.used.add(code)
                hit = True
        (silenced if hit else kept).append(finding)
    return kept, silenced


def complaints(
    suppressions: Iterable[Suppression],
    *,
    known: Callable[[str], bool],
    judged: Callable[[str], bool],
    require_reason: bool,
) -> list[tuple[Finding, Edit | None]]:
    """Findings (SW000) about the suppressions themselves: not understood, naming no rule, unused, without a reason.

    `known` says whether a word names a rule at all, `judged` whether all rules that it names were in use, so that a
    suppression of a rule that was left out is not called unused. With each finding comes the edit that repairs it.
    """
    found: list[tuple[Finding, Edit | None]] = []
    for item in suppressions:
        if item.trouble:
            found.append((_complaint(item, item.trouble, None), None))
            continue
        unknown = [code for code in item.codes if not known(code)]
        unused = [code for code in item.codes if known(code) and judged(code) and code not in item.used]
        idle = not item.codes and not item.used and judged("ALL")
        edit = item.without({*unknown, *unused})
        fix = None if edit is None else Fix(message="remove what suppresses nothing", safe=True)
        if unknown:
            found.append((_complaint(item, f"the suppression names {_listed(unknown)}, which is no rule", fix), edit))
        if unused:
            found.append((_complaint(item, f"the suppression of {_listed(unused)} suppresses nothing", fix), edit))
        if idle:
            found.append((_complaint(item, "the suppression suppresses nothing", fix), edit))
        if require_reason and not item.reason and not unused and not idle:
            found.append((_complaint(item, "the suppression gives no reason; say why the wait is meant", None), None))
    return found


def _complaint(item: Suppression, message: str, fix: Fix | None) -> Finding:
    return Finding(
        path=item.path,
        line=item.line,
        column=item.column,
        end_line=item.line,
        end_column=item.end_column,
        rule=SUPPRESSION.id,
        name=SUPPRESSION.name,
        kind=Kind.SUPPRESSION,
        op="",
        message=message,
        certainty=Certainty.CERTAIN,
        heat=Heat.SETUP,
        function="",
        fix=fix,
    )


def _listed(codes: Sequence[str]) -> str:
    return " and ".join([", ".join(codes[:-1]), codes[-1]] if len(codes) > 1 else codes)


def _parse(path: str, comment: Comment, own: Callable[[str], bool]) -> Suppression | None:
    ours = _OURS.search(comment.text)
    meant = _WITHOUT_COLON.search(comment.text) if ours is None else None
    match = ours or meant or _NOQA.search(comment.text)
    if match is None:
        return None
    codes: Collection[str] = () if meant is not None else _CODE.findall(match["codes"] or "")
    column = comment.column + match.start() + 1
    trouble = ""
    whole_file = False
    if meant is not None:
        trouble = "the colon after `syncwatch` is missing; write `# syncwatch: ignore[SW101] reason`"
    elif ours is None:
        codes = [code for code in codes if own(code)]
        if not codes:
            return None
    else:
        word = match["word"].lower()
        whole_file = word == "ignore-file"
        if word not in ("ignore", "ignore-file"):
            trouble = f"`syncwatch: {match['word']}` is not understood; write `# syncwatch: ignore[SW101] reason`"
        elif match["codes"] is not None and not codes:
            trouble = "the suppression names no rule between its brackets"
        elif match["codes"] is None and match["rest"].lstrip().startswith("["):
            trouble = "the suppression's bracket is not closed"
        elif match["codes"] is None and _BARE_CODE.match(match["rest"]):
            trouble = "the suppression names its rule outside of brackets; write `# syncwatch: ignore[SW101] reason`"
    return Suppression(
        path=path,
        line=comment.line,
        column=column,
        end_column=column + len(match[0].rstrip()),
        codes=tuple(dict.fromkeys(codes)),
        reason=match["rest"].strip(" \t-:,;()—–"),
        first=0 if whole_file else comment.line,
        last=0 if whole_file else comment.line,
        text=match[0].rstrip(),
        noqa=ours is None and meant is None,
        trouble=trouble,
    )


def _statement(statements: Sequence[tuple[int, int]], comment: Comment) -> tuple[int, int]:
    """The lines of the statement that the comment belongs to."""
    for line in (comment.line, comment.target):
        best: tuple[int, int] | None = None
        index = bisect_right(statements, (line, 1 << 60))
        # statements never nest (compound ones are listed by their headers), so that a few steps back suffice
        for first, last in reversed(statements[max(0, index - 8) : index]):
            if first <= line <= last and (best is None or last - first < best[1] - best[0]):
                best = (first, last)
        if best is not None:
            return best
    return comment.target, comment.target

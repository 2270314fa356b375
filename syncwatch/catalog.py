"""Finds and reads the rules: `rules/SWnnn-name.md`, each a TOML head followed by its documentation and its proofs.

Loading the catalog reads the heads only; `read_document` parses the Markdown of one rule.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

import msgspec

from syncwatch.model import BrokenFile, Certainty, Heat, Kind

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

SECTIONS = ("What it finds", "Why it blocks", "What to write instead", "When it is fine")
BLOCKS = ("bad", "good", "fixed")

_HEAD = re.compile(r"\A\s*```toml[ \t]*\n(.*?)^```[ \t]*$", re.S | re.M)
_TITLE = re.compile(r"^# (.+)$", re.M)
_ID = re.compile(r"[A-Z]{2,8}\d{3,4}")
_NAME = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")
_MARK = re.compile(r"#\s*(sync|hazard):\s*([a-z, -]+?)\s*(?=#|$)")
_FENCE = re.compile(r"^```(\w*)[ \t]*(\S*)[ \t]*$")
_FIELD = re.compile(r"\{(\w*)[^}]*\}")


class BrokenRule(BrokenFile):
    """A rule file that cannot be used; the message names the file and the key or the place concerned."""


class Rule(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The head of a rule: which events it selects, and what it says of them.

    An event is selected when its kind is among `kinds` and its operation and its `via` match one of `ops` and one of
    `via` (an empty list matches all). `ops` holds public names; `*` stands for any text. `heat` and `certainty` say
    where the rule is shown by default. `message` may hold {subject}, {op} and {detail}. `requires` names what a proof
    needs beyond one GPU: "ranks" (a process group with more than one rank).
    """

    id: str
    name: str
    kinds: tuple[Kind, ...]
    message: str
    remedy: str
    since: str
    ops: tuple[str, ...] = ()
    via: tuple[str, ...] = ()
    heat: tuple[Heat, ...] = (Heat.STEP,)
    certainty: tuple[Certainty, ...] = (Certainty.CERTAIN, Certainty.LIKELY)
    link: str = ""
    requires: str = ""
    # not in the head: the first heading of the text, and where the rule was read
    title: str = ""
    path: str = ""


@dataclass(frozen=True)
class Block:
    """A program in a rule. `line` is the line of the file on which its first line stands; `marks` maps lines of the
    program (from 1) to the kinds that the line is marked with, and whether they block (`sync`) or not (`hazard`)."""

    tag: str
    code: str
    line: int
    marks: dict[int, tuple[tuple[Kind, bool], ...]]

    @property
    def kinds_by_line(self) -> dict[int, frozenset[Kind]]:
        """The marked lines with their kinds, whether they block or not."""
        return {line: frozenset(kind for kind, _ in marks) for line, marks in self.marks.items()}


@dataclass(frozen=True)
class Document:
    """A rule with its text: `markdown` is everything after the head, `sections` the text under each `##` heading."""

    rule: Rule
    markdown: str
    sections: dict[str, str]
    blocks: tuple[Block, ...]


@dataclass(frozen=True)
class Catalog:
    """All rules, sorted by id."""

    rules: tuple[Rule, ...]
    _by_word: dict[str, Rule] = field(default_factory=dict, repr=False)

    def __iter__(self) -> Iterator[Rule]:
        return iter(self.rules)

    def __len__(self) -> int:
        return len(self.rules)

    def find(self, word: str) -> Rule | None:
        """The rule with this id or name (case does not matter)."""
        return self._by_word.get(word.strip().lower())

    def nearest(self, word: str) -> str | None:
        """The id or name that is most like `word`, for a message about a word that is neither."""
        from difflib import get_close_matches

        wanted = word.strip().lower()
        words = list(self._by_word)
        if re.fullmatch(r"sw\d+", wanted):  # the first digit says what a rule is about: suggest no other subject's
            words = [known for known in words if known.startswith(wanted[:3])]
        close = get_close_matches(wanted, words, n=1, cutoff=0.5)
        if not close:
            close = [known for known in words if wanted and wanted in known][:1]
        if not close:
            return None
        rule = self._by_word[close[0]]
        return rule.id if close[0] == rule.id.lower() else rule.name


def builtin_folder() -> Path:
    """The folder of the rules that come with syncwatch: inside the installed package, else beside it in a checkout.

    Raises BrokenRule where neither exists.
    """
    from importlib.resources import files

    package = Path(str(files("syncwatch")))
    for folder in (package / "rules", package.parent / "rules"):
        if any(folder.glob("*.md")):
            return folder
    raise BrokenRule(f"{package / 'rules'}: the rules that come with syncwatch are missing; reinstall syncwatch")


def load(folders: Iterable[str | Path] = ()) -> Catalog:
    """Reads the heads of the built-in rules and of the rules in `folders`.

    Raises BrokenRule for a folder that does not exist or holds no rule, a head that cannot be read, and an id or a
    name that two rules share.
    """
    rules = list(_builtin())
    for folder in folders:
        rules += _read_folder(Path(folder))
    by_word: dict[str, Rule] = {}
    for rule in rules:
        for key, word in (("id", rule.id), ("name", rule.name)):
            other = by_word.setdefault(word.lower(), rule)
            if other is not rule:
                raise BrokenRule(f"{rule.path}: {key}: {word!r} is taken by {other.path}; choose another")
    rules.sort(key=lambda rule: rule.id)
    return Catalog(tuple(rules), by_word)


@lru_cache(maxsize=1)
def _builtin() -> tuple[Rule, ...]:
    return tuple(_read_folder(builtin_folder()))


def _read_folder(folder: Path) -> list[Rule]:
    if not folder.is_dir():
        raise BrokenRule(f"{folder}: no such folder of rules")
    rules = [read_rule(path) for path in sorted(folder.glob("*.md")) if path.name.lower() != "readme.md"]
    if not rules:
        raise BrokenRule(f"{folder}: holds no rule (a rule is a file named like SW101-scalar-read.md)")
    return rules


def read_rule(path: Path) -> Rule:
    """Reads the head of one rule file. Raises BrokenRule, naming the file and the key."""
    return _split(path)[0]


def read_document(rule: Rule) -> Document:
    """Reads the text and the programs of a rule.

    Raises BrokenRule where a block is not closed, has a tag that is none of bad, good and fixed, or is marked with a
    kind that does not exist.
    """
    path = Path(rule.path)
    _, head, text = _split(path)
    first_line = head.count("\n") + 1
    return Document(rule, text.lstrip("\n"), _sections(text), tuple(_blocks(path, text, first_line)))


def _split(path: Path) -> tuple[Rule, str, str]:
    """The rule, the text up to the end of the head, and the text after it."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise BrokenRule(f"{path}: cannot be read ({error})") from None
    match = _HEAD.match(text)
    if match is None:
        raise BrokenRule(f"{path}: head: a rule begins with a block ```toml … ``` that says what it selects")
    try:
        head = tomllib.loads(match.group(1))
    except tomllib.TOMLDecodeError as error:
        raise BrokenRule(f"{path}: head: no valid TOML ({error}, counted from the line after ```toml)") from None
    body = text[match.end() :]
    title = _TITLE.search(body)
    return _rule(path, head, title.group(1).strip() if title else ""), text[: match.end()], body


def _rule(path: Path, head: dict[str, Any], title: str) -> Rule:
    for key in ("title", "path"):
        if key in head:
            raise BrokenRule(f"{path}: {key}: no key of a rule's head")
    try:
        rule = msgspec.convert({**head, "title": title, "path": str(path)}, Rule)
    except msgspec.ValidationError as error:
        raise BrokenRule(f"{path}: {_where(str(error))}") from None
    if not _ID.fullmatch(rule.id):
        raise BrokenRule(f"{path}: id: {rule.id!r} is not letters and a number, as in SW101")
    if not _NAME.fullmatch(rule.name):
        raise BrokenRule(f"{path}: name: {rule.name!r} is not lower-case words joined by hyphens")
    for key in ("kinds", "heat", "certainty"):
        if not getattr(rule, key):
            raise BrokenRule(f"{path}: {key}: the list is empty")
    for name in _FIELD.findall(rule.message):
        if name not in ("subject", "op", "detail"):
            raise BrokenRule(f"{path}: message: knows {{subject}}, {{op}} and {{detail}}, but not {{{name}}}")
    if not title:
        raise BrokenRule(f"{path}: title: the text after the head begins with a heading `# …`")
    return rule


def _where(message: str) -> str:
    """msgspec's message, with the key first: "Expected `str`, got `int` - at `$.name`" → "name: Expected …"."""
    for pattern in (r"^(?P<say>.*) - at `\$\.(?P<key>[^`]+)`$", r"^(?P<say>Object .*field `(?P<key>[^`]+)`)$"):
        match = re.match(pattern, message)
        if match:
            say = match["say"].replace("Object contains unknown field", "a rule's head has no key")
            return f"{match['key']}: {say.replace('Object missing required field', 'the head lacks the key')}"
    return message


def _sections(text: str) -> dict[str, str]:
    found: dict[str, str] = {}
    name, lines, fenced = "", [], False  # type: str, list[str], bool
    for line in text.splitlines():
        fenced ^= line.startswith("```")
        if line.startswith("## ") and not fenced:
            found[name] = "\n".join(lines).strip()
            name, lines = line[3:].strip(), []
        else:
            lines.append(line)
    found[name] = "\n".join(lines).strip()
    found.pop("", None)
    return found


def _blocks(path: Path, text: str, first_line: int) -> Iterator[Block]:
    opened: tuple[str, str, int] | None = None
    code: list[str] = []
    for number, line in enumerate(text.splitlines(), first_line):
        fence = _FENCE.match(line)
        if opened is None:
            if fence:
                opened, code = (fence[1], fence[2], number + 1), []
        elif fence and not fence[1]:
            language, tag, start = opened
            opened = None
            if language == "python" and tag:
                if tag not in BLOCKS:
                    raise BrokenRule(f"{path}:{start - 1}: block: {tag!r} is none of {', '.join(BLOCKS)}")
                yield Block(tag, "\n".join(code) + "\n", start, _marks(path, code, start))
        else:
            code.append(line)
    if opened is not None:
        raise BrokenRule(f"{path}:{opened[2] - 1}: block: is not closed by ```")


def _marks(path: Path, code: list[str], start: int) -> dict[int, tuple[tuple[Kind, bool], ...]]:
    marks: dict[int, list[tuple[Kind, bool]]] = {}
    for number, line in enumerate(code, 1):
        for sort, kinds in _MARK.findall(line):
            for word in kinds.split(","):
                try:
                    kind = Kind(word.strip())
                except ValueError:
                    raise BrokenRule(f"{path}:{start + number - 1}: mark: there is no kind {word.strip()!r}") from None
                marks.setdefault(number, []).append((kind, sort == "sync"))
    return {line: tuple(kinds) for line, kinds in marks.items()}

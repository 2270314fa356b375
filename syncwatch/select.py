"""Which rules are in use: words that name rules, and files in which some are left out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from syncwatch.catalog import Catalog, Rule
from syncwatch.config import Config, ConfigError
from syncwatch.model import Certainty, Finding, Heat, Kind

# The rule about suppressions themselves. It judges comments, not events, so that it has no file with proofs.
SUPPRESSION = Rule(
    id="SW000",
    name="suppression",
    title="A suppression that suppresses nothing, or is not understood",
    kinds=(Kind.SUPPRESSION,),
    message="{detail}",
    remedy="remove what suppresses nothing; say why in what stays",
    since="0.1.0",
    heat=tuple(Heat),
    certainty=(Certainty.CERTAIN,),
)


def names_rule(word: str, rule: str, name: str) -> bool:
    """Whether a word names a rule: its identifier, the beginning of it (SW, SW1), its name, or ALL, in any case."""
    upper = word.strip().upper()
    if upper in ("ALL", name.upper()):
        return True
    digits = "0123456789"
    return upper.rstrip(digits) == rule.upper().rstrip(digits) and rule.upper().startswith(upper)


def matches(word: str, rule: Rule) -> bool:
    """`names_rule` for a rule of the catalog."""
    return names_rule(word, rule.id, rule.name)


class Selection:
    """The rules that a configuration selects from a catalog.

    Raises ConfigError where a word of the configuration names no rule.
    """

    def __init__(self, catalog: Catalog, config: Config) -> None:
        self.rules: dict[str, Rule] = {rule.id: rule for rule in (*catalog, SUPPRESSION)}
        self._catalog = catalog
        chosen = self._named(config, "select", config.select) | self._named(
            config, "extend-select", config.extend_select
        )
        self.selected = chosen - self._named(config, "ignore", config.ignore)
        self._root = config.root
        self._ignored_in = _patterns(
            {glob: self._named(config, "per-file-ignores", words) for glob, words in config.per_file_ignores.items()}
        )
        self._by_path: dict[str, frozenset[str]] = {}

    def known(self, word: str) -> bool:
        """Whether a word names at least one rule."""
        return any(matches(word, rule) for rule in self.rules.values())

    def in_use(self, word: str) -> bool:
        """Whether all rules that a word names are selected."""
        return all(rule.id in self.selected for rule in self.rules.values() if matches(word, rule))

    def shows(self, finding: Finding) -> bool:
        """Whether the finding's rule is selected, and not left out in its file."""
        return finding.rule in self.selected and finding.rule not in self.left_out(finding.path)

    def left_out(self, path: str) -> frozenset[str]:
        """The rules that the configuration leaves out in one file."""
        if not self._ignored_in:
            return frozenset()
        if path not in self._by_path:
            relative = _relative(path, self._root)
            self._by_path[path] = frozenset(
                rule for inside, rules in self._ignored_in if inside(relative) for rule in rules
            )
        return self._by_path[path]

    def _named(self, config: Config, key: str, words: Iterable[str]) -> frozenset[str]:
        found: set[str] = set()
        for word in words:
            ids = {rule.id for rule in self.rules.values() if matches(word, rule)}
            if not ids:
                near = self._catalog.nearest(word)
                hint = f"; did you mean {near!r}?" if near else "; `syncwatch rules` lists them"
                raise ConfigError(f"{config.origins.get(key, key)}: `{key}` names {word!r}, which is no rule{hint}")
            found |= ids
        return frozenset(found)


def _patterns(table: Mapping[str, frozenset[str]]) -> list[tuple[Callable[[str], bool], frozenset[str]]]:
    if not table:
        return []
    import pathspec

    return [(pathspec.GitIgnoreSpec.from_lines([glob]).match_file, rules) for glob, rules in table.items()]


def _relative(path: str, root: Path) -> str:
    import os

    try:
        return Path(os.path.relpath(path, root)).as_posix()
    except ValueError:  # another drive
        return path

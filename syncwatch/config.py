"""The project's configuration: `[tool.syncwatch]` of pyproject.toml, or syncwatch.toml.

One table, `OPTIONS`, names every key, its type and what it means; reading, `syncwatch config` and the documentation's
test all go by it.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, NamedTuple

from syncwatch.model import BrokenFile, Certainty, Heat

DEFAULT_EXCLUDE = (
    ".bzr",
    ".eggs",
    ".git",
    ".hg",
    ".ipynb_checkpoints",
    ".mypy_cache",
    ".nox",
    ".pytest_cache",
    ".ruff_cache",
    ".svn",
    ".syncwatch_cache",
    ".tox",
    ".venv",
    "__pycache__",
    "__pypackages__",
    "build",
    "dist",
    "node_modules",
    "site-packages",
    "venv",
)


class ConfigError(BrokenFile):
    """A configuration that cannot be used: one sentence that names the file, the key and the remedy."""


class Option(NamedTuple):
    """One key. sort: "names" (list of strings), "dotted" (list of dotted names of Python), "table" (pattern to list of
    strings), "flag", "path" (a string), or "choice" / "choices" (one or several of `choices`)."""

    key: str
    sort: str
    help: str
    choices: tuple[str, ...] = ()

    @property
    def attribute(self) -> str:
        return self.key.replace("-", "_")


_CERTAINTIES = tuple(item.value for item in Certainty)
_HEATS = tuple(item.value for item in Heat)

OPTIONS: tuple[Option, ...] = (
    Option("select", "names", "rules to use: identifiers, their beginnings (SW1), names, or ALL; default: all rules"),
    Option("extend-select", "names", "rules to use besides those of `select`"),
    Option("ignore", "names", "rules to leave out; wins over `select`"),
    Option("per-file-ignores", "table", "rules to leave out in files that match a pattern"),
    Option("exclude", "names", "files and folders to leave out, as gitignore patterns; replaces the default list"),
    Option("extend-exclude", "names", "files and folders to leave out besides those of `exclude`"),
    Option("respect-gitignore", "flag", "leave out what git ignores"),
    Option("rules", "names", "folders of rules of your own, relative to the configuration's folder"),
    Option("hot", "dotted", "functions that run every step, though nothing in the code says so: `Trainer.fit_batch`"),
    Option("device-names", "dotted", "expressions that name the accelerator: `cfg.gpu`"),
    Option("sync-functions", "dotted", "functions of yours that make the host wait, by dotted name"),
    Option("moves-to-device", "dotted", "functions of yours that return their argument on the device"),
    Option("certainty", "choice", "the least certainty that is shown; default: each rule's own choice", _CERTAINTIES),
    Option("heat", "choices", "how often a site must run to be shown; default: each rule's own choice", _HEATS),
    Option("baseline", "path", "file of known findings, relative to the configuration's folder"),
    Option("require-reason", "flag", "a suppression without a reason is itself a finding"),
)

_BY_KEY = {option.key: option for option in OPTIONS}


@dataclass(frozen=True)
class Config:
    """What is in force. The fields are the keys of `OPTIONS`, with underscores.

    `root` is the folder that patterns and paths refer to: the configuration file's own, else the current one.
    `file` is the configuration file, or None. `origins` says for every key that was set where its value comes from.
    `heat` is empty, and `certainty` None, where each rule chooses for itself.
    """

    root: Path = field(default_factory=Path.cwd)
    file: Path | None = None
    select: tuple[str, ...] = ("ALL",)
    extend_select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    per_file_ignores: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    exclude: tuple[str, ...] = DEFAULT_EXCLUDE
    extend_exclude: tuple[str, ...] = ()
    respect_gitignore: bool = True
    rules: tuple[str, ...] = ()
    hot: tuple[str, ...] = ()
    device_names: tuple[str, ...] = ()
    sync_functions: tuple[str, ...] = ()
    moves_to_device: tuple[str, ...] = ()
    certainty: Certainty | None = None
    heat: tuple[Heat, ...] = ()
    baseline: str | None = None
    require_reason: bool = False
    origins: Mapping[str, str] = field(default_factory=dict)

    def override(self, values: Mapping[str, Any], origin: Mapping[str, str] | str) -> Config:
        """This configuration with some keys (spelled as in `OPTIONS`) replaced; None leaves a key as it is.

        Raises ConfigError as `read` does.
        """
        changed: dict[str, Any] = {}
        origins = dict(self.origins)
        for key, value in values.items():
            if value is None:
                continue
            source = origin if isinstance(origin, str) else origin[key]
            option = _BY_KEY[key]
            changed[option.attribute] = _convert(option, value, source)
            origins[key] = source
        return replace(self, **changed, origins=origins)

    def rule_folders(self) -> tuple[Path, ...]:
        """The folders of the project's own rules. Raises ConfigError where one does not exist."""
        folders = tuple(self.root / name for name in self.rules)
        for name, folder in zip(self.rules, folders, strict=True):
            if not folder.is_dir():
                raise ConfigError(
                    f"{self.origins.get('rules', 'rules')}: `rules` names the folder {name!r}, which does not exist "
                    f"(looked for {folder})"
                )
        return folders


def read(file: Path) -> Config:
    """The configuration in `file` (pyproject.toml, or any other TOML file in the form of syncwatch.toml).

    Raises ConfigError where the file cannot be read, is not TOML, holds an unknown key or a value of a wrong type.
    """
    text, data = _load(file)
    table: object = data
    prefix = ""
    if file.name == "pyproject.toml":
        prefix = "tool.syncwatch"
        table = _tool_table(data)
        if table is None:
            raise ConfigError(f"{_shown(file)}: there is no [tool.syncwatch] table")
    if not isinstance(table, dict):
        raise ConfigError(f"{_shown(file)}: `tool.syncwatch` must be a table, not {_sort_of(table)}")
    for key in table:
        if key not in _BY_KEY:
            raise ConfigError(f"{_at(file, text, prefix, key)}: {_unknown(key, prefix, file.name)}")
    origins = {key: _at(file, text, prefix, key) for key in table}
    return Config(root=file.parent.resolve(), file=file).override(table, origins)


def find(start: Path) -> Path | None:
    """The nearest configuration file in `start` or a folder above it.

    A pyproject.toml without [tool.syncwatch] is passed over. Raises ConfigError where a pyproject.toml on the way is
    not TOML, since nobody can tell then whether it was meant.
    """
    for folder in (start, *start.parents):
        own = folder / "syncwatch.toml"
        if own.is_file():
            return own
        project = folder / "pyproject.toml"
        if project.is_file() and _tool_table(_load(project)[1]) is not None:
            return project
    return None


def discover(paths: Iterable[Path]) -> Config:
    """The configuration nearest to the folder that holds all of `paths`, or the defaults.

    Raises ConfigError as `read` and `find` do.
    """
    file = find(common_folder(paths))
    return Config() if file is None else read(file)


def common_folder(paths: Iterable[Path]) -> Path:
    """The deepest folder that holds all of `paths`; the current one where there are none or no common one."""
    import os

    folders = [str(path if path.is_dir() else path.parent) for path in (Path(os.path.abspath(p)) for p in paths)]
    if not folders:
        return Path.cwd()
    try:
        return Path(os.path.commonpath(folders))
    except ValueError:  # several drives
        return Path.cwd()


def table(config: Config) -> list[tuple[Option, object, str]]:
    """Every key with its value in force, as plain data, and where the value comes from."""
    rows = []
    for option in OPTIONS:
        value = getattr(config, option.attribute)
        if option.sort == "table":
            value = {pattern: list(rules) for pattern, rules in value.items()}
        elif isinstance(value, tuple):
            value = [item.value if isinstance(item, Heat) else item for item in value]
        elif isinstance(value, Certainty):
            value = value.value
        rows.append((option, value, config.origins.get(option.key, "default")))
    return rows


def _convert(option: Option, value: object, where: str) -> object:
    def wrong(expected: str) -> ConfigError:
        return ConfigError(f"{where}: `{option.key}` must be {expected}, not {_sort_of(value)}")

    if option.sort == "flag":
        if not isinstance(value, bool):
            raise wrong("true or false")
        return value
    if option.sort == "path":
        if not isinstance(value, str):
            raise wrong("a string")
        return value
    if option.sort == "names":
        return _strings(option, value, where)
    if option.sort == "dotted":
        names = _strings(option, value, where)
        for name in names:
            if not all(part.isidentifier() for part in name.split(".")):
                raise ConfigError(
                    f"{where}: `{option.key}` must hold dotted names such as 'cfg.gpu', but holds {name!r}"
                )
        return names
    if option.sort == "table":
        if not isinstance(value, Mapping):
            raise wrong('a table such as { "tests/*" = ["SW101"] }')
        return {pattern: _strings(option, rules, where, f'["{pattern}"]') for pattern, rules in value.items()}
    if option.sort == "choice":
        if not isinstance(value, str):
            raise wrong(f"one of {_listed(option.choices)}")
        return Certainty(_choice(option, value, where))
    if value == "all":
        return tuple(Heat)
    if isinstance(value, str):
        raise wrong(f'"all" or a list of some of {_listed(option.choices)}')
    return tuple(Heat(_choice(option, item, where)) for item in _strings(option, value, where))


def _strings(option: Option, value: object, where: str, part: str = "") -> tuple[str, ...]:
    if isinstance(value, str) or not isinstance(value, (list, tuple)):
        raise ConfigError(f"{where}: `{option.key}{part}` must be a list of strings, not {_sort_of(value)}")
    for item in value:
        if not isinstance(item, str):
            raise ConfigError(f"{where}: `{option.key}{part}` must hold strings only, but holds {_sort_of(item)}")
        if not item.strip():
            raise ConfigError(f"{where}: `{option.key}{part}` holds an empty string; remove it")
    return tuple(value)


def _choice(option: Option, value: str, where: str) -> str:
    if value not in option.choices:
        raise ConfigError(
            f"{where}: `{option.key}` does not know {value!r}{suggestion(value, option.choices)} "
            f"(one of {_listed(option.choices)})"
        )
    return value


def suggestion(word: str, known: Iterable[str]) -> str:
    """`; did you mean 'x'?` for the known word nearest to `word`, or nothing."""
    from difflib import get_close_matches

    near = get_close_matches(word, list(known), n=1, cutoff=0.5)
    return f"; did you mean {near[0]!r}?" if near else ""


def _unknown(key: str, prefix: str, file: str) -> str:
    underscored = key.replace("_", "-")
    if not prefix and key == "tool":
        return f"unknown key 'tool'; in {file} the keys stand at the top, without [tool.syncwatch]"
    hint = f"; did you mean {underscored!r}?" if underscored in _BY_KEY else suggestion(key, _BY_KEY)
    return f"unknown key {key!r}{hint}" if hint else f"unknown key {key!r} (known: {', '.join(_BY_KEY)})"


def _load(file: Path) -> tuple[str, dict[str, Any]]:
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    try:
        text = file.read_bytes().decode("utf-8")
        return text, tomllib.loads(text)
    except OSError as error:
        raise ConfigError(f"{_shown(file)}: cannot be read ({error.strerror or error})") from None
    except UnicodeDecodeError:
        raise ConfigError(f"{_shown(file)}: is not UTF-8, as TOML must be") from None
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{_shown(file)}: is not valid TOML: {error}") from None


def _tool_table(data: Mapping[str, Any]) -> object:
    tool = data.get("tool")
    return tool.get("syncwatch") if isinstance(tool, dict) else None


def _at(file: Path, text: str, prefix: str, key: str) -> str:
    """`file:line` of a key, as far as plain text tells; else the file."""
    import re

    inside = not prefix
    assignment = re.compile(rf"""\s*["']?{re.escape(key)}["']?\s*[.=]""")
    own_table = re.compile(
        rf"""\s*\[\s*{re.escape(f"{prefix}." if prefix else "")}["']?{re.escape(key)}["']?\s*[\].]"""
    )
    for number, line in enumerate(text.splitlines(), 1):
        if own_table.match(line):
            return f"{_shown(file)}:{number}"
        if line.lstrip().startswith("["):
            inside = re.match(rf"\s*\[\s*{re.escape(prefix)}\s*\]", line) is not None if prefix else False
        elif inside and assignment.match(line):
            return f"{_shown(file)}:{number}"
    return _shown(file)


def _shown(file: Path) -> str:
    """The path as a user would type it from here."""
    try:
        return file.resolve().relative_to(Path.cwd()).as_posix()
    except ValueError:
        return file.as_posix()


def _sort_of(value: object) -> str:
    if isinstance(value, bool):
        return f"`{str(value).lower()}`"
    if isinstance(value, str):
        return f"the string {value!r}"
    if isinstance(value, (int, float)):
        return f"the number {value}"
    if isinstance(value, (list, tuple)):
        return "a list"
    if isinstance(value, Mapping):
        return "a table"
    return f"a {type(value).__name__}"


def _listed(words: Iterable[str]) -> str:
    return ", ".join(f"{word!r}" for word in words)


# every key has a field, or `override` would fail at run time only
assert {option.attribute for option in OPTIONS} <= {item.name for item in fields(Config)}

"""`syncwatch config`: what is in force, and where each value comes from."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

_WIDE = 60  # longer lines do not push the origins of the others to the right


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of the command."""
    parser.add_argument(
        "paths", nargs="*", metavar="PATH", help="the files or folders that would be checked (default: this folder)"
    )
    parser.add_argument("--config", metavar="FILE", help="use this configuration file")
    parser.add_argument("--output-format", choices=("text", "json"), default="text", help="text (as TOML) or json")


def run(args: argparse.Namespace) -> int:
    """Prints the configuration. Raises ConfigError where it cannot be used, or a path does not exist."""
    import json

    from syncwatch.catalog import load
    from syncwatch.config import ConfigError, discover, read, table
    from syncwatch.select import Selection

    paths = [Path(path) for path in args.paths] or [Path.cwd()]
    for path in paths:
        if not path.exists():
            raise ConfigError(f"{path}: no such file or folder")
    config = read(Path(args.config)) if args.config else discover(paths)
    selection = Selection(load(config.rule_folders()), config)  # words that name no rule are errors here too
    rows = table(config)
    if args.output_format == "json":
        document = {
            "schema_version": 1,
            "file": str(config.file) if config.file else None,
            "root": str(config.root),
            "values": {option.key: {"value": value, "origin": origin} for option, value, origin in rows},
            "rules_in_use": sorted(selection.selected),
        }
        json.dump(document, sys.stdout, indent=2)
        print()
        return 0
    print(f"# file: {config.file or 'none found; these are the defaults'}")
    print(f"# root: {config.root}")
    lines = [(_line(option.key, value), origin) for option, value, origin in rows]
    width = max(len(line) for line, _ in lines if len(line) <= _WIDE)
    for line, origin in lines:
        print(f"{line:<{width}}  # {origin}")
    print(f"# rules in use: {', '.join(sorted(selection.selected)) or 'none'}")
    return 0


def _line(key: str, value: object) -> str:
    """An assignment; a comment for a key that TOML has no value for, since each rule chooses."""
    unset = value is None or (key == "heat" and not value)
    return f"# {key} is not set" if unset else f"{key} = {_toml(value)}"


def _toml(value: object) -> str:
    import json

    if isinstance(value, dict):
        return "{ " + ", ".join(f"{json.dumps(key)} = {_toml(item)}" for key, item in value.items()) + " }"
    if isinstance(value, list):
        return "[" + ", ".join(map(_toml, value)) + "]"
    return json.dumps(value, ensure_ascii=False)

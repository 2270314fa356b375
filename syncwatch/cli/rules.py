"""`syncwatch rules`: the list of rules."""

from __future__ import annotations

import argparse
import sys

from syncwatch.catalog import Catalog
from syncwatch.cli.rulesets import add_rule_folders, load_catalog


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the command's arguments."""
    parser.add_argument("--output-format", choices=("text", "json", "markdown"), default="text", help="default: text")
    add_rule_folders(parser)


def run(args: argparse.Namespace) -> int:
    """Prints all rules, sorted by id."""
    from syncwatch.cli import EXIT_CLEAN

    rules = load_catalog(args.rules)
    if args.output_format == "json":
        import json

        import msgspec

        listed = [msgspec.to_builtins(rule) for rule in rules]
        json.dump({"schema_version": 1, "rules": listed}, sys.stdout, indent=2)
        print()
    elif args.output_format == "markdown":
        sys.stdout.write(markdown(rules))
    elif sys.stdout.isatty():
        _print_rich(rules)
    else:
        sys.stdout.write(plain(rules))
    return EXIT_CLEAN


def rows(rules: Catalog) -> list[tuple[str, str, str, str, str]]:
    """Each rule as id, name, kinds, heat and title."""
    return [
        (
            rule.id,
            rule.name,
            ", ".join(kind.value for kind in rule.kinds),
            ", ".join(heat.value for heat in rule.heat),
            rule.title,
        )
        for rule in rules
    ]


def plain(rules: Catalog) -> str:
    """The list in aligned columns, a rule a line."""
    table = rows(rules)
    widths = [max(len(row[column]) for row in table) for column in range(4)]
    lines = []
    for row in table:
        cells = [cell.ljust(width) for cell, width in zip(row, widths, strict=False)]
        lines.append("  ".join([*cells, row[4]]))
    return "\n".join(lines) + "\n"


THEMES = {
    "SW1": "Reads of device values on the host",
    "SW2": "Transfers",
    "SW3": "Shapes that depend on data",
    "SW4": "Explicit waits, and aids left on",
    "SW5": "Waits hidden in libraries",
    "SW6": "Streams",
    "SW7": "Ranks",
}


def markdown(rules: Catalog) -> str:
    """The list as a Markdown document, by theme; rules of one's own come last."""
    themes: dict[str, list[tuple[str, str, str, str, str]]] = {}
    for row in rows(rules):
        themes.setdefault(THEMES.get(row[0][:3], "Further rules"), []).append(row)
    lines = [
        "# Rules",
        "",
        "Written by `syncwatch rules --output-format markdown`; `syncwatch explain RULE` shows one.",
    ]
    for theme, listed in themes.items():
        lines += ["", f"## {theme}", "", "| rule | name | what it finds | kinds |", "| --- | --- | --- | --- |"]
        for id_, name, kinds, _, title in listed:
            lines.append(f"| [{id_}](../rules/{id_}-{name}.md) | {name} | {title} | {kinds} |")
    return "\n".join(lines) + "\n"


def _print_rich(rules: Catalog) -> None:
    from rich import box
    from rich.table import Table

    from syncwatch.report.console import make_console

    table = Table("rule", "name", "kinds", "shown in", "what it finds", box=box.SIMPLE)
    for row in rows(rules):
        table.add_row(*row)
    make_console().print(table)

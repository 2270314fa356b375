"""`syncwatch explain RULE`: the documentation of a rule."""

from __future__ import annotations

import argparse
import re
import sys

from syncwatch import catalog
from syncwatch.cli.rulesets import add_rule_folders, load_catalog
from syncwatch.model import BrokenFile
from syncwatch.proof import Proof, proof
from syncwatch.select import SUPPRESSION

# The rule about comments has no file: it selects no event, and no program can prove it.
ABOUT_SUPPRESSIONS = """\
`# syncwatch: ignore[SW101] the reason` (or `# noqa: SW101`) keeps a finding silent. When the code below it changes, the
comment stays, and would hide the next wait on that line. So a comment that silences nothing, names no rule, or cannot
be read is reported; with `require-reason = true` also one that gives no reason.

Remove what silences nothing. Say in what stays why the wait is meant.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the command's arguments."""
    parser.add_argument("rule", metavar="RULE", help="a rule's id or name: SW101 or scalar-read")
    parser.add_argument("--output-format", choices=("text", "json"), default="text", help="default: text")
    add_rule_folders(parser)


def run(args: argparse.Namespace) -> int:
    """Prints one rule. Raises UsageError for a word that is no rule."""
    from syncwatch.cli import EXIT_CLEAN, UsageError

    rules = load_catalog(args.rules)
    rule = rules.find(args.rule)
    if rule is None and args.rule.strip().lower() in (SUPPRESSION.id.lower(), SUPPRESSION.name):
        print(f"{headline(SUPPRESSION)}\n\n# {SUPPRESSION.title}\n\n{ABOUT_SUPPRESSIONS}", end="")
        return EXIT_CLEAN
    if rule is None:
        near = rules.nearest(args.rule)
        hint = f"did you mean {near}?" if near else "`syncwatch rules` lists them"
        raise UsageError(f"there is no rule {args.rule!r}; {hint}")
    try:
        document = catalog.read_document(rule)
    except BrokenFile as error:
        raise UsageError(str(error)) from None
    if args.output_format == "json":
        _print_json(document)
    elif sys.stdout.isatty():
        _print_rich(document)
    else:
        sys.stdout.write(plain(document))
    return EXIT_CLEAN


def plain(document: catalog.Document) -> str:
    """The rule as plain text: the facts of its head, then its Markdown with the blocks' tags in words."""
    return f"{headline(document.rule, proof(document))}\n\n{readable(document.markdown)}"


def headline(rule: catalog.Rule, proved: Proof | None = None) -> str:
    """The facts of a rule's head, and where its programs were proved, in a few lines."""
    where = ", ".join(heat.value for heat in rule.heat)
    lines = [f"{rule.id} {rule.name} · {', '.join(kind.value for kind in rule.kinds)} · shown in: {where}"]
    if rule.link:
        lines.append(rule.link)
    if proved is not None:
        lines.append(str(proved))
    return "\n".join(lines)


_TAGS = {"bad": "Waits:", "good": "Does not wait:", "fixed": "The first program, mended:"}


def readable(markdown: str) -> str:
    """The Markdown with a line of words before each program instead of the tag in its fence."""

    def words(match: re.Match[str]) -> str:
        return f"{_TAGS[match[1]]}\n\n```python"

    return re.sub(rf"^```python ({'|'.join(_TAGS)})[ \t]*$", words, markdown, flags=re.M)


def _print_rich(document: catalog.Document) -> None:
    from rich.markdown import Markdown

    from syncwatch.report.console import make_console

    console = make_console()
    console.print(headline(document.rule, proof(document)), style="dim", markup=False, highlight=False)
    console.print(Markdown(readable(document.markdown), code_theme="ansi_dark"))


def _print_json(document: catalog.Document) -> None:
    import json

    import msgspec

    blocks = [
        {
            "tag": block.tag,
            "code": block.code,
            "marks": {str(line): sorted(kinds) for line, kinds in block.kinds_by_line.items()},
        }
        for block in document.blocks
    ]
    head = msgspec.to_builtins(document.rule)
    json.dump({"schema_version": 1, **head, "sections": document.sections, "blocks": blocks}, sys.stdout, indent=2)
    print()

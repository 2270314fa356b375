"""`syncwatch facts`: what is known of an operation, the whole table, what changed between two versions of torch."""

from __future__ import annotations

import argparse
import difflib
from pathlib import Path

from syncwatch.cli import EXIT_CLEAN, UsageError
from syncwatch.facts.store import Version
from syncwatch.model import BrokenFile


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "words",
        nargs="*",
        metavar="OP",
        help="an operation (torch.Tensor.item, item, aten.nonzero), or: diff OLD NEW (versions, or files written by "
        "python -m syncwatch.facts.measure --out)",
    )
    parser.add_argument("--markdown", action="store_true", help="print the whole table as a Markdown page")


def run(args: argparse.Namespace) -> int:
    """Prints and returns the exit status. Raises UsageError for an unknown operation, version or file."""
    from syncwatch.facts import words

    try:
        if args.markdown:
            print(words.page(), end="")
        elif args.words and args.words[0] == "diff":
            _diff(args.words[1:])
        elif args.words:
            print("\n\n".join(_operation(name) for name in args.words))
        else:
            _summary()
    except BrokenFile as error:
        raise UsageError(str(error)) from None
    return EXIT_CLEAN


def _summary() -> None:
    from syncwatch.facts import store, words

    for version in store.shipped().versions.values():
        print(f"torch {version.torch}, CUDA {version.cuda}, {version.gpu}, {version.date}")
        print(f"  {words.figures(version)}")
    print("Name an operation to see what is known of it: syncwatch facts torch.Tensor.item")


def _operation(name: str) -> str:
    from syncwatch.facts import words

    found = words.operation(name)
    if found is not None:
        return found
    known = _known()
    same_ending = sorted(other for other in known if other.endswith(f".{name}"))
    if same_ending:
        return "\n\n".join(filter(None, (words.operation(other) for other in same_ending[:4])))
    close = difflib.get_close_matches(name, known, n=3, cutoff=0.75)
    hint = f"did you mean {' or '.join(close)}?" if close else "run syncwatch facts --markdown for all that are known"
    raise UsageError(f"facts: the table does not know {name}; {hint}")


def _known() -> list[str]:
    from syncwatch.facts import table
    from syncwatch.facts.ops import silent

    return [*table().public, *table().leaves, *silent.public()]


def _diff(names: list[str]) -> None:
    from syncwatch.facts import words

    if len(names) != 2:
        raise UsageError(
            f"facts diff: two versions or files are needed, {len(names)} given: syncwatch facts diff OLD NEW"
        )
    old, new = (_version(name) for name in names)
    lines = words.difference(old, new)
    print(f"torch {old.torch} ({old.gpu}, {old.date}) → torch {new.torch} ({new.gpu}, {new.date})")
    print("\n".join(lines) if lines else "no operation blocks differently")


def _version(name: str) -> Version:
    from syncwatch.facts import store

    path = Path(name)
    if path.suffix == ".json":
        versions = store.read(path).versions
        if len(versions) != 1:
            held = ", ".join(versions) or "none"
            raise UsageError(f"facts diff: {name} holds {len(versions)} versions ({held}); give a file with one")
        return next(iter(versions.values()))
    versions = store.shipped().versions
    if name not in versions:
        raise UsageError(f"facts diff: version {name} was not measured; measured are {', '.join(versions)}")
    return versions[name]

"""The table of commands: name, module, one line of help. A command's module is imported only when it runs.

A module holds `add_arguments(parser)` and `run(args) -> int`, the exit status: 0 clean, 1 findings, 2 error.
"""

from __future__ import annotations

from typing import NamedTuple


class Command(NamedTuple):
    name: str
    module: str
    help: str


COMMANDS: tuple[Command, ...] = (
    Command("check", "syncwatch.cli.check", "find waits in source files, without running them"),
    Command("explain", "syncwatch.cli.explain", "show a rule: what it finds, why it blocks, what to write instead"),
    Command("rules", "syncwatch.cli.rules", "list the rules"),
    Command("run", "syncwatch.cli.run", "count the waits of a running program, on a GPU or an emulated one"),
    Command("report", "syncwatch.cli.report", "show a recorded session"),
    Command("diff", "syncwatch.cli.diff", "compare two recorded sessions"),
    Command("facts", "syncwatch.cli.facts", "show what is known of an operation of PyTorch"),
    Command("config", "syncwatch.cli.config", "show the configuration in force, and where each value comes from"),
    Command("clean", "syncwatch.cli.clean", "remove the cache of a project"),
    Command("completion", "syncwatch.cli.completion", "print the completion script for a shell"),
)

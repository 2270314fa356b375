"""`syncwatch completion SHELL`: a script that completes commands, options and choices."""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator
from typing import NamedTuple

SHELLS = ("bash", "zsh", "fish")

_EPILOG = """\
how to load it:
  bash:  eval "$(syncwatch completion bash)"            in ~/.bashrc
  zsh:   eval "$(syncwatch completion zsh)"             in ~/.zshrc, after compinit
  fish:  syncwatch completion fish > ~/.config/fish/completions/syncwatch.fish
"""


class Flag(NamedTuple):
    """An option: its spellings, whether it takes a value, the values it knows, and what it is for."""

    names: tuple[str, ...]
    takes_value: bool
    choices: tuple[str, ...]
    help: str


class Words(NamedTuple):
    """A command: its options, the words that it takes as an argument (() for files), and what it does."""

    flags: tuple[Flag, ...]
    choices: tuple[str, ...]
    help: str


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of the command."""
    parser.epilog = _EPILOG
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("shell", choices=SHELLS, help="the shell to complete in")


def run(args: argparse.Namespace) -> int:
    """Prints the script."""
    print(script(args.shell), end="")
    return 0


def script(shell: str) -> str:
    """The completion script for one of `SHELLS`."""
    return {"bash": _bash, "zsh": _zsh, "fish": _fish}[shell](words())


def words() -> dict[str, Words]:
    """All commands with their options."""
    from syncwatch.cli import parser_of
    from syncwatch.cli.commands import COMMANDS

    parser = parser_of({command.name for command in COMMANDS})
    subparsers = next(action for action in parser._actions if isinstance(action, argparse._SubParsersAction))
    helps = {command.name: command.help for command in COMMANDS}
    result = {}
    for name, sub in subparsers.choices.items():
        positional = next((action for action in sub._actions if not action.option_strings and action.choices), None)
        choices = tuple(map(str, positional.choices or ())) if positional else ()
        result[name] = Words(tuple(_flags(sub)), choices, helps[name])
    return result


def _flags(parser: argparse.ArgumentParser) -> Iterator[Flag]:
    for action in parser._actions:
        if action.option_strings and action.help != argparse.SUPPRESS:
            choices = tuple(map(str, action.choices or ()))
            yield Flag(tuple(action.option_strings), action.nargs != 0, choices, _plain(action.help or ""))


def _plain(text: str) -> str:
    """Help as one short line that needs no quoting in any shell."""
    text = re.sub(r"\([^)]*\)", "", text.replace("%%", "%"))
    return " ".join(re.sub(r"[^\w ,./+-]", "", re.split(r"[;:]", text)[0])[:70].split())


def _bash(commands: dict[str, Words]) -> str:
    cases = []
    for name, command in commands.items():
        values = [
            f"            {'|'.join(flag.names)})\n"
            f'                COMPREPLY=($(compgen -W "{" ".join(flag.choices)}" -- "$cur")); return;;'
            for flag in command.flags
            if flag.choices
        ]
        files = "|".join(
            spelling for flag in command.flags if flag.takes_value and not flag.choices for spelling in flag.names
        )
        if files:
            values.append(f'            {files}) COMPREPLY=($(compgen -f -- "$cur")); return;;')
        inner = '\n        case "$prev" in\n' + "\n".join(values) + "\n        esac" if values else ""
        flags = " ".join(spelling for flag in command.flags for spelling in flag.names)
        cases.append(f"    {name}){inner}\n        flags=\"{flags}\"\n        words='{' '.join(command.choices)}';;")
    body = "\n".join(cases)
    return f"""\
# bash completion for syncwatch
_syncwatch() {{
    local cur="${{COMP_WORDS[COMP_CWORD]}}" prev="${{COMP_WORDS[COMP_CWORD-1]}}" flags="" words=""
    COMPREPLY=()
    if [ "$COMP_CWORD" -eq 1 ]; then
        COMPREPLY=($(compgen -W "{" ".join(commands)} --help --version" -- "$cur"))
        return
    fi
    case "${{COMP_WORDS[1]}}" in
{body}
    esac
    case "$cur" in
    -*) COMPREPLY=($(compgen -W "$flags" -- "$cur"));;
    *) if [ -n "$words" ]; then
           COMPREPLY=($(compgen -W "$words" -- "$cur"))
       else
           COMPREPLY=($(compgen -f -- "$cur"))
       fi;;
    esac
}}
complete -o filenames -F _syncwatch syncwatch
"""


def _zsh(commands: dict[str, Words]) -> str:
    listed = "\n".join(f"        '{name}:{_plain(command.help)}'" for name, command in commands.items())
    cases = []
    for name, command in commands.items():
        specs = []
        for flag in command.flags:
            for spelling in flag.names:
                value = (
                    f":value:({' '.join(flag.choices)})"
                    if flag.choices
                    else ":value:_files"
                    if flag.takes_value
                    else ""
                )
                specs.append(f"            '*{spelling}[{flag.help}]{value}'")
        rest = f"({' '.join(command.choices)})" if command.choices else "_files"
        specs.append(f"            '*:argument:{rest}'")
        cases.append(f"    {name})\n        _arguments \\\n" + " \\\n".join(specs) + ";;")
    body = "\n".join(cases)
    return f"""\
#compdef syncwatch
# zsh completion for syncwatch
_syncwatch() {{
    local -a commands
    commands=(
{listed}
    )
    if (( CURRENT == 2 )); then
        _describe 'command' commands
        return
    fi
    local command="${{words[2]}}"
    shift words
    (( CURRENT-- ))
    case "$command" in
{body}
    esac
}}
compdef _syncwatch syncwatch
"""


def _fish(commands: dict[str, Words]) -> str:
    lines = [
        "# fish completion for syncwatch",
        "complete -c syncwatch -n __fish_use_subcommand -l version -d 'print the version'",
    ]
    for name, command in commands.items():
        lines.append(f"complete -c syncwatch -n __fish_use_subcommand -a {name} -d '{_plain(command.help)}'")
        inside = f"-n '__fish_seen_subcommand_from {name}'"
        if command.choices:
            lines.append(f"complete -c syncwatch -f {inside} -a '{' '.join(command.choices)}'")
        for flag in command.flags:
            spelled = " ".join(f"-l {word[2:]}" if word.startswith("--") else f"-s {word[1:]}" for word in flag.names)
            value = f" -x -a '{' '.join(flag.choices)}'" if flag.choices else " -r" if flag.takes_value else ""
            lines.append(f"complete -c syncwatch {inside} {spelled}{value} -d '{flag.help}'")
    return "\n".join(lines) + "\n"

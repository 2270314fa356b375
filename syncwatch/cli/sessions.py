"""What the commands that make or read sessions share."""

from __future__ import annotations

import glob
import os

import msgspec

from syncwatch.model import BrokenFile, Session, from_json

DEFAULT_SESSION = "syncwatch-session.json"


def name_rules(session: Session) -> Session:
    """The session with the static rule of each site beside it, as far as a rule describes it."""
    from syncwatch import catalog
    from syncwatch.judge import RuleTable

    table = RuleTable(catalog.load())
    sites = []
    for site in session.sites:
        rule = table.match(site.kind, site.op, site.via)
        sites.append(msgspec.structs.replace(site, rule=rule.id if rule is not None else None))
    return msgspec.structs.replace(session, sites=sites)


def read_sessions(path: str) -> list[Session]:
    """The session in `path`, or those of all ranks where each rank wrote its own (session.rank0.json, …).

    Raises UsageError where there is none, or one cannot be read.
    """
    from syncwatch.cli import UsageError

    paths = [path] if os.path.exists(path) else ranks_of(path)
    if not paths:
        raise UsageError(f"{path}: no such session file; `syncwatch run` writes one")
    try:
        return [_read(one) for one in paths]
    except BrokenFile as error:
        raise UsageError(str(error)) from None


def ranks_of(path: str) -> list[str]:
    """The files of the ranks that belong to `path`, in the order of the ranks."""
    stem, ending = os.path.splitext(path)
    found = glob.glob(f"{glob.escape(stem)}.rank*{glob.escape(ending)}")
    numbered = []
    for name in found:
        rank = name[len(stem) + len(".rank") : len(name) - len(ending)]
        if rank.isdigit():
            numbered.append((int(rank), name))
    return [name for _, name in sorted(numbered)]


def _read(path: str) -> Session:
    try:
        with open(path, "rb") as file:
            data = file.read()
    except OSError as error:
        raise BrokenFile(f"{path}: cannot be read ({error.strerror})") from None
    return from_json(data, Session, name=path, remedy="`syncwatch run` writes session files")

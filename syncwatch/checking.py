"""The whole way of a check: paths and configuration in, an `Outcome` for the formats out."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from syncwatch import baseline
from syncwatch.catalog import Catalog, load
from syncwatch.config import Config, discover
from syncwatch.model import Certainty, Finding, Heat
from syncwatch.repair import Edit
from syncwatch.report.outcome import Outcome
from syncwatch.select import Selection
from syncwatch.suppress import Suppression, apply, complaints, read

if TYPE_CHECKING:
    from syncwatch.static.engine import Analysis
    from syncwatch.static.options import Options

_STALE_SHOWN = 10  # stale entries of the baseline that are named one by one

_LEAST = {
    Certainty.CERTAIN: frozenset({Certainty.CERTAIN}),
    Certainty.LIKELY: frozenset({Certainty.CERTAIN, Certainty.LIKELY}),
    Certainty.POSSIBLE: frozenset(Certainty),
}


@dataclass(frozen=True)
class Work:
    """How a check is done, besides the configuration.

    jobs: number of processes, 0 for one for each processor. cache: whether results are kept between runs.
    contents: the bytes of files that are not read from disk, by path.
    force_exclude: whether patterns also leave out files that are named.
    partial: the paths are a part of a project. What makes one of their functions wait may lie in a caller that is not
    read, so that no suppression is called unused and no entry of the baseline stale.
    keep: says which findings are shown (those on changed lines).
    write_baseline: whether the baseline is written instead of obeyed.
    progress: called with the number of files done and of all.
    """

    jobs: int = 1
    cache: bool = True
    contents: Mapping[str, bytes] = field(default_factory=dict)
    force_exclude: bool = False
    partial: bool = False
    keep: Callable[[Finding], bool] | None = None
    write_baseline: bool = False
    progress: Callable[[int, int], None] | None = None


def check(paths: Iterable[str | os.PathLike[str]], config: Config | None = None, work: Work | None = None) -> Outcome:
    """Finds the waits in files and folders.

    `config` defaults to the configuration nearest to `paths`. Raises ConfigError for a configuration, and BrokenFile
    for a rule or a baseline, that cannot be used. Whatever is wrong with one of the files is in the outcome.
    """
    from syncwatch.static.engine import analyse

    work = work or Work()
    names = [os.fspath(path) for path in paths]
    config = config or discover(Path(name) for name in names)
    catalog = load(config.rule_folders())
    selection = Selection(catalog, config)
    analysis = analyse(names, _options(config, work), work.contents, work.progress)
    return _Judging(analysis, config, selection, catalog, partial=work.partial).outcome(work)


def _options(config: Config, work: Work) -> Options:
    from syncwatch.static.options import Options

    return Options(
        root=str(config.root),
        exclude=config.exclude,
        extend_exclude=config.extend_exclude,
        respect_gitignore=config.respect_gitignore,
        force_exclude=work.force_exclude,
        hot=config.hot,
        device_names=config.device_names,
        sync_functions=config.sync_functions,
        moves_to_device=config.moves_to_device,
        jobs=work.jobs,
        cache=work.cache,
    )


class _Judging:
    """From the engine's events to what is shown.

    Two lists of findings are made: those that are shown, and *all*, which also holds what heat and certainty leave
    out. Whether a suppression or an entry of the baseline is still needed is asked of all, so that a narrower run
    never calls one unused.
    """

    def __init__(
        self, analysis: Analysis, config: Config, selection: Selection, rules: Catalog, *, partial: bool
    ) -> None:
        from syncwatch.judge import RuleTable, judge

        self._analysis, self._config, self._selection = analysis, config, selection
        self._partial = partial
        table = RuleTable(rules)
        everything = judge(analysis.events, table, heat=frozenset(Heat), certainty=frozenset(Certainty))
        shown = judge(
            analysis.events,
            table,
            heat=frozenset(config.heat) if config.heat else None,
            certainty=_LEAST[config.certainty] if config.certainty else None,
        )
        suppressions = self._suppressions()
        kept_of_all, silenced_of_all = apply(everything, suppressions)
        said = [pair for pair in self._complaints(suppressions) if selection.shows(pair[0])]
        complained = [finding for finding, _ in said]
        self._edits = tuple(dict.fromkeys(edit for _, edit in said if edit is not None))
        kept, silenced = apply(shown, suppressions)
        self._shown = sorted([*filter(selection.shows, kept), *complained], key=_order)
        self._suppressed = sum(map(selection.shows, silenced))
        self._kept_of_all = [*filter(selection.shows, kept_of_all), *complained]
        self._all = sorted([*kept_of_all, *silenced_of_all, *complained], key=_order)
        file = config.root / (config.baseline or baseline.DEFAULT_NAME)
        self._baseline_file, self._folder = file, file.parent

    def outcome(self, work: Work) -> Outcome:
        """The outcome, after the baseline and what `work` leaves out."""
        findings, notes, baselined = self._shown, list[str](), 0
        if work.write_baseline:
            findings, notes, baselined = [], self._write_baseline(), len(self._shown)
        elif self._config.baseline is not None:
            findings, notes = self._new()
            baselined = len(self._shown) - len(findings)
        if work.keep is not None:
            findings = list(filter(work.keep, findings))
        return Outcome(
            findings=tuple(findings),
            problems=tuple(self._analysis.problems),
            notes=(*notes, *_failures(self._analysis.faults)),
            files=len(self._analysis.files),
            suppressed=self._suppressed,
            baselined=baselined,
            rules=self._selection.rules,
            source=self._analysis.source,
            cell=self._analysis.cell,
            edits=self._edits,
            fingerprint=lambda finding: self._entries[_place(finding)].key.digest(),
        )

    def _suppressions(self) -> list[Suppression]:
        own = self._selection.known
        marks = self._analysis.marks
        return [item for path, each in marks.items() for item in read(path, each, own)]

    def _complaints(self, suppressions: list[Suppression]) -> list[tuple[Finding, Edit | None]]:
        return complaints(
            suppressions,
            known=self._selection.known,
            judged=self._whole,
            require_reason=self._config.require_reason,
        )

    @cached_property
    def _entries(self) -> dict[tuple[str, int, int, str], baseline.Entry]:
        """The entries of all findings by place, numbered among all that are alike, whatever is shown."""
        entries = baseline.entries(self._all, self._folder, self._analysis.source)
        return {_place(finding): entry for finding, entry in zip(self._all, entries, strict=True)}

    def _new(self) -> tuple[list[Finding], list[str]]:
        """The findings that the baseline does not know, and what is to be said of the baseline."""
        known = baseline.read(self._baseline_file)
        gone = self._gone(known)
        there = {entry.key for entry in known.entries}
        notes = [
            f"{_near(self._baseline_file)}: {entry.path} no longer has {entry.rule} in "
            f"{entry.function or 'the module'} (`{entry.source[:60]}`)"
            for entry in gone[:_STALE_SHOWN]
        ]
        if len(gone) > _STALE_SHOWN:
            notes.append(f"{_near(self._baseline_file)}: {len(gone) - _STALE_SHOWN} more entries no longer occur")
        if gone:
            notes.append("--write-baseline drops what no longer occurs")
        return [finding for finding in self._shown if self._entries[_place(finding)].key not in there], notes

    def _write_baseline(self) -> list[str]:
        file = self._baseline_file
        old = baseline.read(file) if file.exists() else None
        gone = self._gone(old) if old else []
        entries = baseline.updated(old, (self._entries[_place(finding)] for finding in self._shown), gone)
        baseline.write(file, entries)
        dropped = f"; dropped {len(gone)} that no longer occur{'s' if len(gone) == 1 else ''}" if gone else ""
        held = f"holds {len(entries)} known finding{'' if len(entries) == 1 else 's'}{dropped}"
        if self._config.baseline is None:  # nothing refers to the file yet
            held += f"; leave them out with --baseline {_near(file)}, or name it as `baseline` in the configuration"
        return [f"{_near(file)}: {held}"]

    def _gone(self, known: baseline.Baseline) -> list[baseline.Entry]:
        present = (self._entries[_place(finding)].key for finding in self._kept_of_all)
        checked = (baseline.relative(path, self._folder) for path in self._analysis.files)
        return baseline.stale(known, present, checked, self._whole, self._folder)

    def _whole(self, word: str) -> bool:
        """Whether the run saw all there is to see of the rules that a word names."""
        return not self._partial and self._selection.in_use(word)


def _failures(faults: Sequence[str]) -> list[str]:
    """What is to be said of errors of inference itself: the functions concerned were passed over."""
    if not faults:
        return []
    places = f"{len(faults)} places" if len(faults) > 1 else "a place"
    return [f"syncwatch itself failed in {places} and passed over what stands there; please report it ({faults[0]})"]


def _order(finding: Finding) -> tuple[list[str], int, int, str, str]:
    return (finding.path.split("/"), finding.line, finding.column, finding.rule, finding.message)


def _place(finding: Finding) -> tuple[str, int, int, str]:
    return (finding.path, finding.line, finding.column, finding.rule)


def _near(file: Path) -> str:
    try:
        return file.resolve().relative_to(Path.cwd()).as_posix()
    except ValueError:
        return file.as_posix()

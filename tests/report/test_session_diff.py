"""Two sessions compared: each site stands for itself."""

from __future__ import annotations

import io

from syncwatch.model import Kind, Session, SiteCount
from syncwatch.report.session_diff import compare, print_diff


def session(*sites: tuple[str, int, int], device: str = "emulated") -> Session:
    """A session whose sites read a scalar: (path, line, count)."""
    rows = [
        SiteCount(
            path=path,
            line=line,
            function="train",
            kind=Kind.SCALAR_READ,
            op="torch.Tensor.item",
            count=count,
            wait_ms=None if device == "emulated" else 1.5,
        )
        for path, line, count in sites
    ]
    total = sum(row.count for row in rows)
    untimed, waited = (total, 0.0) if device == "emulated" else (0, 1.5 * len(rows))
    totals = {"count": total, "untimed": untimed, "wait_ms": waited, "per_step": None}
    return Session(device=device, device_name="", torch="2", command=[], sites=rows, totals=totals)


def changes(old: Session, new: Session) -> list[tuple[str, int, float, float]]:
    return [(change.path, change.line, change.before, change.after) for change in compare(old, new)]


def text(old: Session, new: Session) -> str:
    file = io.StringIO()
    print_diff(old, new, file)
    return file.getvalue()


def test_each_site_of_another_file_is_shown():
    old, new = session(("naive.py", 8, 3), ("naive.py", 12, 3)), session(("repaired.py", 20, 1))
    assert changes(old, new) == [("repaired.py", 20, 0, 1), ("naive.py", 8, 3, 0), ("naive.py", 12, 3, 0)]


def test_sites_that_moved_together_are_no_change():
    assert changes(session(("a.py", 8, 3), ("a.py", 12, 5)), session(("a.py", 10, 3), ("a.py", 14, 5))) == []


def test_of_several_sites_the_one_that_went_is_shown():
    old, new = session(("a.py", 8, 3), ("a.py", 12, 5)), session(("a.py", 9, 5))
    assert changes(old, new) == [("a.py", 8, 3, 0)]


def test_a_site_that_moved_and_changed_is_one_change():
    assert changes(session(("a.py", 8, 3)), session(("a.py", 10, 4))) == [("a.py", 10, 3, 4)]


def test_times_are_left_out_where_nothing_was_timed():
    old, new = [("a.py", 8, 3)], [("a.py", 8, 1)]
    assert "waited" not in text(session(*old), session(*new))
    assert "waited 1.5 ms → 1.5 ms in all" in text(session(*old, device="cuda"), session(*new, device="cuda"))


def test_the_first_line_says_more_fewer_or_as_many():
    three, five = session(("a.py", 8, 3)), session(("a.py", 8, 5))
    assert text(three, five).startswith("3 → 5 syncs: more than before\n")
    assert text(five, three).startswith("5 → 3 syncs: fewer than before\n")
    assert text(three, three).startswith("3 → 3 syncs: as many as before\n")

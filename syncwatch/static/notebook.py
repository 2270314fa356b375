"""Notebooks: the code cells joined into one text, and the way back to cell and line."""

from __future__ import annotations

import re
from bisect import bisect_right
from typing import Any, NamedTuple

import msgspec

from syncwatch.static.errors import SyntaxProblem

SUFFIX = ".ipynb"

# Cell magics whose body is Python that runs here; the body of any other (%%bash, %%html, …) is no code of ours.
_PYTHON_MAGICS = frozenset({"time", "timeit", "capture", "prun", "python", "python3", "memit", "mprun", "wandb"})
_LINE_MAGIC = re.compile(r"^(\s*)(?:[%!][^\n]*|\?{1,2}\s*[A-Za-z_*][^\n]*|[A-Za-z_*][\w.*]*\?{1,2}\s*)$")
_ASSIGNED_MAGIC = re.compile(r"^(\s*[A-Za-z_][\w.,\s\[\]]*=\s*)[%!](?!=)[^\n]*$")


class Cell(NamedTuple):
    """A code cell: its number among all cells (from 1), and its first line and number of lines in the joined text."""

    number: int
    first: int
    lines: int


class Notebook(NamedTuple):
    """The joined text, and where each cell's code stands in it."""

    source: str
    cells: tuple[Cell, ...]

    def locate(self, line: int) -> tuple[int, int] | None:
        """The cell and the line in it (both from 1) of a line of the joined text, None where no cell is."""
        index = bisect_right([cell.first for cell in self.cells], line) - 1
        if index < 0:
            return None
        cell = self.cells[index]
        return cell.number, min(line - cell.first + 1, cell.lines)

    def without(self, broken: set[int]) -> Notebook:
        """The same notebook with the cells of these numbers emptied; no line moves."""
        lines = self.source.split("\n")
        for cell in self.cells:
            if cell.number in broken:
                lines[cell.first - 1 : cell.first - 1 + cell.lines] = [""] * cell.lines
        return Notebook("\n".join(lines), self.cells)

    def text(self, cell: Cell) -> str:
        """The code of one cell."""
        return "\n".join(self.source.split("\n")[cell.first - 1 : cell.first - 1 + cell.lines])


def read_notebook(data: bytes) -> Notebook:
    """Reads the code cells of an .ipynb file. Magics are blanked, so that what is left is Python.

    A notebook in another language has no cells. Raises SyntaxProblem where the file is no notebook.
    """
    try:
        content: Any = msgspec.json.decode(data.removeprefix(b"\xef\xbb\xbf"))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise SyntaxProblem(0, f"is no notebook (not valid JSON: {error})") from None
    cells = _cells(content)
    if cells is None:
        raise SyntaxProblem(0, "is no notebook that this version reads (it has no list of cells; format 4 is expected)")
    if not _is_python(content):
        return Notebook("", ())
    texts: list[str] = []
    places = []
    line = 1
    for number, cell in enumerate(cells, 1):
        if not isinstance(cell, dict) or cell.get("cell_type") != "code":
            continue
        text = blank_magics(_text(cell.get("source", cell.get("input", ""))))
        count = text.count("\n") + 1
        places.append(Cell(number, line, count))
        texts.append(text)
        line += count
    return Notebook("\n".join(texts) + "\n" if texts else "", tuple(places))


def blank_magics(cell: str) -> str:
    """The code of a cell with what only IPython understands replaced by `pass` or `None`; lines stay where they are."""
    if _is_plain(cell):
        return cell
    lines = cell.split("\n")
    first = next((index for index, line in enumerate(lines) if line.strip()), 0)
    if lines[first].startswith("%%"):
        name = lines[first][2:].split(None, 1)
        if not name or name[0] not in _PYTHON_MAGICS:
            return "\n" * (len(lines) - 1)
        lines[first] = ""
    in_magic = False
    result = []
    for line in lines:
        if in_magic:
            in_magic = line.rstrip().endswith("\\")
            result.append("")
            continue
        magic = _LINE_MAGIC.match(line)
        assigned = None if magic else _ASSIGNED_MAGIC.match(line)
        if magic or assigned:
            in_magic = line.rstrip().endswith("\\")
        result.append(f"{magic[1]}pass" if magic else f"{assigned[1]}None" if assigned else line)
    return "\n".join(result)


def _is_plain(cell: str) -> bool:
    """Whether a cell is Python as it stands: `%` at the start of a line may continue an expression or a string."""
    if not any(char in cell for char in "%!?"):
        return True
    import ast
    import warnings

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ast.parse(cell)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True


def broken_cells(notebook: Notebook) -> dict[int, SyntaxProblem]:
    """The cells that are no Python by themselves, by number; the problems carry lines of the joined text."""
    from syncwatch.static.lower import lower

    problems = {}
    for cell in notebook.cells:
        try:
            lower(notebook.text(cell), "")
        except SyntaxProblem as problem:
            problems[cell.number] = SyntaxProblem(cell.first + max(problem.line, 1) - 1, problem.message)
    return problems


def _cells(content: Any) -> list[Any] | None:
    if not isinstance(content, dict):
        return None
    cells = content.get("cells")
    if cells is None and isinstance(content.get("worksheets"), list):  # format 3
        sheets = [sheet.get("cells") for sheet in content["worksheets"] if isinstance(sheet, dict)]
        cells = [cell for sheet in sheets if isinstance(sheet, list) for cell in sheet]
    return cells if isinstance(cells, list) else None


def _is_python(content: dict[str, Any]) -> bool:
    metadata = content.get("metadata")
    metadata = metadata if isinstance(metadata, dict) else {}
    for key, name in (("language_info", "name"), ("kernelspec", "language")):
        entry = metadata.get(key)
        if isinstance(entry, dict) and isinstance(entry.get(name), str):
            return str(entry[name]).lower() in ("python", "ipython", "python3")
    return True


def _text(source: Any) -> str:
    text = "".join(map(str, source)) if isinstance(source, list) else source if isinstance(source, str) else ""
    return text.replace("\r\n", "\n").replace("\r", "\n")

"""What reading and lowering raise."""

from __future__ import annotations


class SyntaxProblem(Exception):
    """A file that is no Python text, or none that can be read here. `message` is one sentence without the path;
    `line` is 0 where the whole file is meant."""

    def __init__(self, line: int, message: str) -> None:
        super().__init__(f"line {line}: {message}")
        self.line = line
        self.message = message

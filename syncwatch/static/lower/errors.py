"""What lowering raises."""

from __future__ import annotations


class SyntaxProblem(Exception):
    """A source text that is no Python, or none that can be read here. `message` is one sentence without the path."""

    def __init__(self, line: int, message: str) -> None:
        super().__init__(f"line {line}: {message}")
        self.line = line
        self.message = message

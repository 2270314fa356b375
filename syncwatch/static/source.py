"""Reading source files: bytes, their encoding (PEP 263), and what they name."""

from __future__ import annotations

import codecs
import os
import re

from syncwatch.static.errors import SyntaxProblem

# Besides torch itself: libraries that hand out tensors or wrap the training loop.
_NAMES = re.compile(
    rb"lightning|transformers|accelerate|diffusers|timm|ultralytics|fastai|\bignite\b|\bpeft\b|\btrl\b|monai"
    rb"|kornia|deepspeed|megatron|\bvllm\b|fairseq|mmcv|mmengine|\bcupy\b|syncwatch"
)
_COOKIE = re.compile(rb"^[ \t\f]*#.*?coding[:=][ \t]*([-\w.]+)")
_BLANK = re.compile(rb"^[ \t\f]*(?:#.*)?$")


def read(path: str) -> bytes:
    """The bytes of a file. Raises SyntaxProblem where it cannot be read, with the system's reason."""
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError as error:
        raise SyntaxProblem(0, f"cannot be read ({reason(error)})") from None


def reason(error: OSError) -> str:
    """The system's words for what went wrong, without the path."""
    return error.strerror or type(error).__name__


def names_torch(data: bytes) -> bool:
    """Whether a file's text names torch, or a library that wraps it."""
    return b"torch" in data or _NAMES.search(data) is not None


def decode(data: bytes) -> str:
    """The text of a Python file, with `\\n` line ends: UTF-8, or what its first two lines declare (PEP 263).

    Raises SyntaxProblem where the declared encoding is unknown or the bytes do not follow it.
    """
    marked = data.startswith(codecs.BOM_UTF8)
    if marked:
        data = data[3:]
    if b"\0" in data[:4096] and data[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
        raise SyntaxProblem(1, "is encoded as UTF-16, which Python does not read; save it as UTF-8")
    encoding = "utf-8" if marked else _declared(data) or "utf-8"
    try:
        text = data.decode(encoding)
    except LookupError:
        raise SyntaxProblem(1, f"declares the encoding {encoding!r}, which Python does not know") from None
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise SyntaxProblem(
            line, f"is not {encoding} text (byte 0x{data[error.start]:02x}); declare its encoding or save it as UTF-8"
        ) from None
    except (UnicodeError, ValueError) as error:
        raise SyntaxProblem(1, f"cannot be decoded as {encoding} ({error})") from None
    if not isinstance(text, str):  # codecs such as rot13 or hex
        raise SyntaxProblem(1, f"declares {encoding!r}, which is no text encoding")
    if "\0" in text:
        raise SyntaxProblem(text.count("\n", 0, text.index("\0")) + 1, "holds a null byte, and is no Python source")
    return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text


def _declared(data: bytes) -> str | None:
    for line in data.split(b"\n", 2)[:2]:
        cookie = _COOKIE.match(line)
        if cookie is not None:
            name = cookie[1].decode("ascii", "replace")
            return "utf-8" if name.lower().replace("_", "-").startswith("utf-8") else name
        if _BLANK.match(line.rstrip(b"\r")) is None:
            return None
    return None


def display(path: str | os.PathLike[str]) -> str:
    """A path as it is shown and compared: relative to the current folder where it lies inside, with `/`."""
    name = os.path.normpath(os.fspath(path))
    if os.path.isabs(name):
        here = os.getcwd()
        if name == here:
            return "."
        prefix = here if here.endswith(os.sep) else here + os.sep
        if name.startswith(prefix):
            name = name[len(prefix) :]
    return name.replace(os.sep, "/") if os.sep != "/" else name

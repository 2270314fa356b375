"""Runs a program as Python itself would: argv, `__main__`, traceback, exit status and signals are the program's own."""

from __future__ import annotations

import importlib.machinery
import importlib.util
import os
import signal
import sys
import threading
import types
import zipfile
from collections.abc import Callable
from pathlib import Path
from types import CodeType, TracebackType
from typing import Any, NamedTuple

from syncwatch.runtime.signals import LastWords


class LaunchError(Exception):
    """The program cannot be started: one sentence."""


class Program(NamedTuple):
    """A program ready to run. `name` is how messages call it.

    Where it is no Python, `code` is the error that Python would end with.
    """

    name: str
    code: CodeType | SyntaxError | ValueError
    main: types.ModuleType
    argv: list[str]
    path_entry: str


class Outcome(NamedTuple):
    """How a program ended. `status` is the argument of its SystemExit (None, a number, a message).

    `interrupted`: it ended by Ctrl-C, which the caller must pass on with `die_of_interrupt` when it has finished.
    """

    status: Any
    failed: bool
    interrupted: bool = False


def script(path: str, arguments: list[str]) -> Program:
    """`python path arguments…`: a file, or a folder or archive with a `__main__`.

    Raises LaunchError where it cannot be read, or has no `__main__`.
    """
    if os.path.isdir(path) or zipfile.is_zipfile(path):
        return _archive(path, arguments)
    try:
        source = Path(path).read_bytes()
    except OSError as error:
        raise LaunchError(f"{path}: cannot be read ({error.strerror}); give the path of a Python program") from None
    main = types.ModuleType("__main__")
    main.__dict__.update(
        __file__=os.path.abspath(path),
        __builtins__=__builtins__,
        __loader__=importlib.machinery.SourceFileLoader("__main__", path),
        __spec__=None,
    )
    return Program(path, _compiled(source, os.path.abspath(path)), main, [path, *arguments], _folder(path))


def _archive(path: str, arguments: list[str]) -> Program:
    entry = os.path.abspath(path)
    spec = importlib.machinery.PathFinder.find_spec("__main__", [entry])
    if spec is None or spec.loader is None:
        raise LaunchError(f"{path}: has no __main__.py; give the path of a Python program")
    return Program(path, _code_of(spec), _main_of(spec), [path, *arguments], entry)


def module(name: str, arguments: list[str]) -> Program:
    """`python -m name arguments…`. Raises LaunchError where there is no such module."""
    if os.getcwd() not in sys.path:
        sys.path.insert(0, os.getcwd())
    try:
        spec = importlib.util.find_spec(name)
        if spec is not None and spec.submodule_search_locations is not None:
            spec = importlib.util.find_spec(f"{name}.__main__")
    except (ImportError, AttributeError, ValueError) as error:
        raise LaunchError(f"-m {name}: cannot be found ({error})") from None
    code = None if spec is None else _code_of(spec)
    if spec is None or code is None:
        raise LaunchError(f"-m {name}: there is no such module, or it has no __main__; is it installed here?")
    return Program(f"-m {name}", code, _main_of(spec), [spec.origin or name, *arguments], os.getcwd())


def _code_of(spec: importlib.machinery.ModuleSpec) -> Any:
    """The module's code, the error where it is no Python, None where its loader has no code."""
    loader: Any = spec.loader
    try:
        return loader.get_code(spec.name) if hasattr(loader, "get_code") else None
    except (SyntaxError, ValueError) as error:
        return error.with_traceback(None)  # Python shows the line in question, and not who reads it


def _main_of(spec: importlib.machinery.ModuleSpec) -> types.ModuleType:
    main = types.ModuleType("__main__")
    main.__dict__.update(
        __file__=spec.origin,
        __cached__=spec.cached,
        __builtins__=__builtins__,
        __loader__=spec.loader,
        __package__=spec.parent,
        __spec__=spec,
    )
    return main


def _compiled(source: bytes, filename: str) -> CodeType | SyntaxError | ValueError:
    try:
        return compile(source, filename, "exec", dont_inherit=True)
    except (SyntaxError, ValueError) as error:
        return error.with_traceback(None)


def _folder(path: str) -> str:
    return os.path.dirname(os.path.realpath(path))


def run(program: Program, save: Callable[[], None]) -> Outcome:
    """Runs the program to its end, its non-daemon threads included.

    A traceback is printed as Python would print it, without our frames. `save` is called when a signal is about to
    end the process; otherwise the caller saves.
    """
    sys.modules["__main__"] = program.main
    sys.argv[:] = program.argv
    sys.path[0] = program.path_entry
    last_words = LastWords(save)
    last_words.arm()
    try:
        if isinstance(program.code, Exception):
            raise program.code
        exec(program.code, program.main.__dict__)
        _wait_for_threads()
    except SystemExit as error:
        return Outcome(error.code, failed=error.code not in (None, 0))
    except KeyboardInterrupt as error:
        _show(error)
        return Outcome(130, failed=True, interrupted=True)
    except BaseException as error:
        _show(error)
        return Outcome(1, failed=True)
    finally:
        last_words.disarm()
    return Outcome(None, failed=False)


def _wait_for_threads() -> None:
    for thread in threading.enumerate():
        if thread is not threading.main_thread() and thread is not threading.current_thread() and not thread.daemon:
            thread.join()


def _show(error: BaseException) -> None:
    trace = error.__traceback__
    while trace is not None and _ours(trace):
        trace = trace.tb_next
    error.__traceback__ = trace
    sys.excepthook(type(error), error, trace)


def _ours(trace: TracebackType) -> bool:
    return trace.tb_frame.f_code.co_filename == __file__


def die_of_interrupt() -> None:
    """Ends the process as Ctrl-C ends a Python program: by the signal, so that a calling shell stops too."""
    if os.name == "posix":
        sys.stdout.flush()
        sys.stderr.flush()
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGINT)

"""Queues, threads, executors and coroutines: what is called in the end, and what it gives."""

from __future__ import annotations

from typing import Any

from syncwatch.static.library.protocol import LibCall, model
from syncwatch.static.values import (
    NONE,
    UNKNOWN,
    Iter,
    Obj,
    Value,
    join_all,
)


@model("queue.Queue.get", "queue.Queue.get_nowait")
def _queue_get(m: Any, c: LibCall) -> Value:
    return c.self.slots.get("<content>", UNKNOWN) if type(c.self) is Obj else UNKNOWN


@model("queue.Queue.put", "queue.Queue.put_nowait")
def _queue_put(m: Any, c: LibCall) -> Value:
    if type(c.self) is Obj and c.args:
        m.setattr(c.self, "<content>", c.args[0], weak=True)
    return NONE


@model("threading.Thread.__init__")
def _thread(m: Any, c: LibCall) -> Value:
    for name, value in c.kwargs.items():
        m.setattr(c.self, name, value)
    return NONE


@model("threading.Thread.start")
def _start(m: Any, c: LibCall) -> Value:
    target = c.self.slots.get("target") if type(c.self) is Obj else None
    args = c.self.slots.get("args") if type(c.self) is Obj else None
    if target is not None:
        m.call(target, m.iterate(args).items or () if args is not None else ())
    return NONE


@model("concurrent.futures.ThreadPoolExecutor.submit", "concurrent.futures.ThreadPoolExecutor.map")
def _submit(m: Any, c: LibCall) -> Value:
    if not c.args:
        return UNKNOWN
    if c.name.endswith("map"):
        args = [m.iterate(a) for a in c.args[1:]]
        return Iter(None, m.call(c.args[0], tuple(join_all(a.items or (a.elem,)) for a in args)))
    result = m.call(c.args[0], c.args[1:], c.kwargs)
    return m.new("concurrent.futures.Future", result=result)


@model("concurrent.futures.Future.result")
def _result(m: Any, c: LibCall) -> Value:
    return c.self.slots.get("result", UNKNOWN) if type(c.self) is Obj else UNKNOWN


@model("asyncio.run", "asyncio.gather", "asyncio.create_task", "asyncio.wait_for", "asyncio.to_thread")
def _asyncio(m: Any, c: LibCall) -> Value:
    if c.name.endswith("gather"):
        return m.list(list(c.args))
    if c.name.endswith("to_thread"):
        return m.call(c.args[0], c.args[1:], c.kwargs) if c.args else UNKNOWN
    return c.arg(0, None, UNKNOWN)

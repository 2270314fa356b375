"""Steps: who ends them, and what counts as the first one."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

import syncwatch
from syncwatch.model import Kind
from syncwatch.runtime import scope
from syncwatch.runtime.session import Recording

torch = pytest.importorskip("torch")


def test_set_up_first_step_and_evaluation_are_apart_from_the_mean(device):
    recording = Recording(["train.py"])
    recording.start()
    optimizer = torch.nn.Module()  # anything that lives
    device.nonzero()  # set-up
    for _ in range(4):
        for _ in range(2):
            device.item()
        device.step(optimizer)
    device.nonzero()  # after the last step
    recording.stop()
    session = recording.session()
    assert session.steps == 4
    assert session.totals["count"] == 10
    assert session.totals["per_step"] == 2.0
    assert {site.op: site.in_steps for site in session.sites} == {"torch.Tensor.item": 6, "torch.nonzero": 0}


def test_the_first_optimizer_delimits_the_steps(device):
    recording = Recording(["gan.py"])
    recording.start()
    generator, critic = torch.nn.Module(), torch.nn.Module()
    for _ in range(3):
        device.step(critic)
        device.step(generator)
    recording.stop()
    assert recording.session().steps == 3


def test_calls_of_a_watched_function_stand_in_until_an_optimizer_steps(device):
    recording = Recording(["serve.py"])
    recording.start()
    answer = syncwatch.watch(lambda: device.item())
    for _ in range(3):
        answer()
    assert recording.session().steps == 3
    optimizer = torch.nn.Module()
    device.step(optimizer)
    answer()
    device.step(optimizer)
    recording.stop()
    session = recording.session()
    assert session.steps == 2
    assert session.totals["per_step"] == 1.0


def test_an_optimizer_of_torch_ends_a_step():
    from syncwatch.runtime.steps import StepHook

    class Sink:
        steps = 0

        def step_ended(self, owner):
            self.steps += 1

    sink, hook = Sink(), StepHook()
    parameter = torch.nn.Parameter(torch.ones(1))
    optimizer = torch.optim.SGD([parameter], lr=0.1)
    hook.install(sink)
    parameter.sum().backward()
    optimizer.step()
    optimizer.step()
    hook.uninstall()
    optimizer.step()
    assert sink.steps == 2


def test_a_thread_of_autograd_borrows_the_watch_of_its_backward(device):
    import _thread

    done = threading.Event()

    def autograd_thread():  # not known to `threading`, as those of C++ are not
        device.item()
        done.set()

    with syncwatch.watch() as report, scope.backward_call(__import__("sys")._getframe()):
        _thread.start_new_thread(autograd_thread, ())
        assert done.wait(30)
    assert report.count == 1


def test_a_wait_on_a_thread_of_autograd_tells_the_forward_line_and_the_call_of_backward(device, monkeypatch):
    import _thread

    class Node:
        """What torch hands out in anomaly mode."""

        metadata = {
            "traceback_": [f'  File "{__file__}", line 7, in model\n    y = f(x)\n', '  File "<string>", line 1']
        }

    monkeypatch.setattr(torch._C, "_current_autograd_node", Node)
    done = threading.Event()

    def backward_of_a_function():
        device.item()
        done.set()

    with syncwatch.watch() as report, scope.backward_call(__import__("sys")._getframe()):
        _thread.start_new_thread(backward_of_a_function, ())
        assert done.wait(30)
    (site,) = report.sites
    assert site.function.endswith("backward_of_a_function")
    own, forward, call = site.stack[:3]
    assert own.endswith("backward_of_a_function")
    assert forward.endswith("test_steps.py:7 model (forward)")
    assert call.endswith("test_a_wait_on_a_thread_of_autograd_tells_the_forward_line_and_the_call_of_backward")


def test_the_session_file_is_the_contract(device, tmp_path):
    import json

    recording = Recording(["train.py", "--lr", "3"])
    recording.start()
    with syncwatch.allow("for the log"):
        device.item()
    device.nonzero(wait_ms=None)
    recording.stop()
    path = recording.save(str(tmp_path / "deep" / "session.json"))
    data = json.loads(Path(path).read_text())
    assert set(data) >= {
        *("schema_version", "device", "device_name", "torch", "command", "rank", "world_size", "steps", "sites"),
        "totals",
    }
    assert set(data["sites"][0]) >= {
        *("path", "line", "function", "kind", "op", "rule", "count", "wait_ms", "allowed", "reason", "stack"),
    }
    by_kind = {site["kind"]: site for site in data["sites"]}
    assert by_kind[Kind.SCALAR_READ.value]["allowed"] is True
    assert by_kind[Kind.SCALAR_READ.value]["reason"] == "for the log"
    assert by_kind[Kind.DYNAMIC_SHAPE.value]["wait_ms"] is None
    assert data["totals"]["count"] == 1
    assert data["totals"]["allowed"] == 1

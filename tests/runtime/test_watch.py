"""`watch` on blocks, functions, methods, generators and coroutines."""

from __future__ import annotations

import asyncio
import threading

import pytest

import syncwatch
from syncwatch.runtime.watch import SyncBudgetWarning


def test_a_block_counts_its_waits(device):
    with syncwatch.watch() as report:
        device.item()
        device.nonzero()
    device.item()
    assert report.count == 2
    assert {site.op: site.count for site in report.sites} == {"torch.Tensor.item": 1, "torch.nonzero": 1}
    assert report.wait_ms == 3.0


def test_a_site_is_the_line_of_the_user(device):
    with syncwatch.watch() as report:
        for _ in range(3):
            device.item()  # the line
    (site,) = report.sites
    assert site.path.endswith("tests/runtime/test_watch.py")
    assert site.function == "test_a_site_is_the_line_of_the_user"
    with open(__file__) as source:
        assert source.read().splitlines()[site.line - 1].endswith("# the line")
    assert site.count == 3


def test_a_breach_lists_site_source_kind_count_and_remedy(device):
    @syncwatch.watch(max_syncs=0)
    def train_step():
        device.item()  # reads the loss

    with pytest.raises(syncwatch.SyncBudgetExceeded) as caught:
        train_step()
    message = str(caught.value)
    assert "test_a_breach_lists_site_source_kind_count_and_remedy.train_step" in message
    assert "1 sync, at most 0 allowed" in message
    assert "1 × scalar-read (torch.Tensor.item)" in message
    assert "device.item()  # reads the loss" in message
    assert "instead: keep the value on the device" in message
    assert caught.value.report.count == 1


def test_explicit_waits_can_be_left_out(device):
    @syncwatch.watch(max_syncs=0, count="implicit")
    def asks_by_name():
        device.item()

    @syncwatch.watch(max_syncs=0, count="implicit")
    def waits_unasked():
        device.nonzero()

    asks_by_name()
    with pytest.raises(syncwatch.SyncBudgetExceeded, match="implicit 1 sync"):
        waits_unasked()


def test_the_first_calls_warm_up(device):
    @syncwatch.watch(max_syncs=0, warmup=2)
    def step():
        device.item()

    step()
    step()
    with pytest.raises(syncwatch.SyncBudgetExceeded):
        step()


def test_a_breach_can_warn_or_be_ignored(device):
    with pytest.warns(SyncBudgetWarning, match="at most 0"), syncwatch.watch(max_syncs=0, on_exceed="warn"):
        device.item()
    with syncwatch.watch(max_syncs=0, on_exceed="ignore") as report:
        device.item()
    assert report.count == 1


def test_an_exception_of_the_code_is_not_replaced(device):
    @syncwatch.watch(max_syncs=0)
    def fails():
        device.item()
        raise KeyError("the program's own")

    with pytest.raises(KeyError):
        fails()


def test_allowed_waits_are_listed_apart(device):
    with syncwatch.watch(max_syncs=0) as report, syncwatch.allow("the log needs it"):
        device.item()
    assert report.count == 0
    (site,) = report.allowed
    assert (site.count, site.reason) == (1, "the log needs it")


def test_allow_first_only_lets_one_pass(device):
    with syncwatch.watch() as report:
        for _ in range(3):
            with syncwatch.allow("looks at the first batch", first_only=True):
                device.item()
    assert (report.count, sum(site.count for site in report.allowed)) == (2, 1)


def test_allow_decorates_functions(device):
    @syncwatch.allow("metrics")
    def read():
        device.item()

    with syncwatch.watch(max_syncs=0) as report:
        read()
        read()
    assert report.allowed[0].count == 2


def test_allow_wants_a_reason():
    with pytest.raises(ValueError, match="needs a reason"):
        syncwatch.allow("")


def test_watches_nest(device):
    with syncwatch.watch() as outer:
        device.item()
        with syncwatch.watch() as inner:
            device.item()
    assert (outer.count, inner.count) == (2, 1)


def test_a_recursive_call_belongs_to_the_call_around_it(device):
    @syncwatch.watch(max_syncs=3)
    def descend(depth):
        device.item()
        if depth:
            descend(depth - 1)

    descend(2)
    assert descend.watch.report.count == 3


def test_methods_and_forward(device):
    import torch

    class Net(torch.nn.Module):
        @syncwatch.watch(max_syncs=1)
        def forward(self, x):
            device.item()
            return x

        @syncwatch.watch()
        @staticmethod
        def helper():
            device.item()

    assert Net()(5) == 5
    Net.helper()
    assert Net.forward.watch.report.count == 1
    assert Net.helper.watch.report.count == 1


def test_a_class_is_refused():
    with pytest.raises(TypeError, match="decorate the method"):
        syncwatch.watch(max_syncs=0)(dict)


def test_a_generator_is_watched_only_while_it_runs(device):
    @syncwatch.watch(max_syncs=2)
    def batches():
        for value in range(2):
            device.item()
            got = yield value
            assert got in (None, "sent")
        return "done"

    generator = batches()
    assert next(generator) == 0
    device.item()  # the consumer's own
    assert device.sink is None
    assert generator.send("sent") == 1
    with pytest.raises(StopIteration) as stop:
        next(generator)
    assert stop.value.value == "done"
    assert batches.watch.report.count == 2


def test_a_generator_passes_exceptions_in(device):
    @syncwatch.watch(max_syncs=0)
    def patient():
        try:
            yield 1
        except LookupError:
            yield 2

    generator = patient()
    next(generator)
    assert generator.throw(LookupError()) == 2
    generator.close()
    assert device.sink is None


def test_coroutines_keep_their_counts_apart(device):
    @syncwatch.watch()
    async def worker(reads):
        for _ in range(reads):
            await asyncio.sleep(0)
            device.item()
        return worker.watch

    async def block(reads):
        with syncwatch.watch() as report:
            for _ in range(reads):
                await asyncio.sleep(0)
                device.item()
        return report.count

    async def both():
        return await asyncio.gather(block(2), block(5))

    assert asyncio.run(both()) == [2, 5]
    asyncio.run(worker(3))
    assert worker.watch.report.count == 3


def test_an_async_generator(device):
    @syncwatch.watch(max_syncs=0)
    async def stream():
        for value in range(2):
            device.item()
            yield value

    async def consume():
        return [value async for value in stream()]

    with pytest.raises(syncwatch.SyncBudgetExceeded, match="2 syncs"):
        asyncio.run(consume())


def test_threads_count_for_themselves(device):
    def other():
        device.item()
        with syncwatch.watch() as inner:
            device.item()
        counts.append(inner.count)

    counts: list[int] = []
    with syncwatch.watch() as report:
        thread = threading.Thread(target=other)
        thread.start()
        thread.join()
        device.item()
    assert report.count == 1
    assert counts == [1]


def test_a_watch_can_be_entered_again_and_again(device):
    block = syncwatch.watch(max_syncs=1, warmup=1, name="decode")
    with block:
        device.item()
        device.item()
    with block as report:
        device.item()
    assert (report.name, report.count, block.entered) == ("decode", 1, 2)


def test_wrong_arguments_are_named():
    with pytest.raises(ValueError, match="max_syncs is a number of syncs"):
        syncwatch.watch(max_syncs=-1)
    with pytest.raises(ValueError, match='count is "all" or "implicit"'):
        syncwatch.watch(count="some")
    with pytest.raises(ValueError, match="on_exceed"):
        syncwatch.watch(on_exceed="explode")


def test_a_report_can_be_saved_and_loaded(device, tmp_path):
    with syncwatch.watch(name="step") as report:
        device.item()
    report.save(tmp_path / "session.json")
    session = syncwatch.load(tmp_path / "session.json")
    assert session.device == "emulated"
    assert session.totals["count"] == 1
    assert session.sites[0].op == "torch.Tensor.item"

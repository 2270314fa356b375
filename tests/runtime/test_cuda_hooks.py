"""The hooks on torch.cuda, against a fake of it: what is counted, named and timed, and that all of it comes off."""

from __future__ import annotations

import warnings

import pytest

import syncwatch

torch = pytest.importorskip("torch")


def test_a_warning_becomes_a_wait_with_name_kind_and_time(cuda, blocking):
    blocking(torch.Tensor, "item")
    value = torch.tensor(2.0)
    with syncwatch.watch() as report:
        value.item()
    (site,) = report.sites
    assert (site.op, site.kind.value, site.count) == ("torch.Tensor.item", "scalar-read", 1)
    assert site.wait_ms == pytest.approx(20.0)
    assert site.function == "test_a_warning_becomes_a_wait_with_name_kind_and_time"


def test_several_waits_inside_one_operation_are_summed(cuda, blocking):
    blocking(torch, "bincount", ms=20.0, times=2)
    with syncwatch.watch() as report:
        torch.bincount(torch.ones(3, dtype=torch.long))
    (site,) = report.sites
    assert (site.op, site.count) == ("torch.bincount", 2)
    assert site.wait_ms == pytest.approx(20.0)


def test_the_implied_methods_of_python_syntax_are_seen(cuda, blocking):
    for name in ("__bool__", "__float__", "__format__"):
        blocking(torch.Tensor, name, ms=1.0)
    value = torch.tensor(2.0)
    with syncwatch.watch() as report:
        if value:
            float(value)
        f"{value:.2f}"
    assert {site.op.rpartition(".")[2] for site in report.sites} == {"__bool__", "__float__", "__format__"}
    assert not any(site.explicit for site in report.sites)


def test_a_wait_without_a_wrapper_is_counted_and_has_no_time(cuda, blocking):
    blocking(torch, "add")
    x = torch.ones(2)
    with syncwatch.watch() as report:
        torch.add(x, x)
    (site,) = report.sites
    assert site.count == 1
    assert site.wait_ms is None


@pytest.mark.skipif(not hasattr((lambda: 0).__code__, "co_positions"), reason="Python 3.10 knows no expressions")
def test_one_line_that_calls_one_thing_after_another_has_a_name_for_each(cuda, blocking):
    for name in ("relu", "gelu"):
        blocking(torch.nn.functional, name)
    for name in ("equal", "allclose"):
        blocking(torch, name)
    x = torch.ones(2)
    with syncwatch.watch() as report:
        for layer in (torch.nn.ReLU(), torch.nn.GELU(), torch.nn.ReLU()):
            layer(x)
        functions = [torch.equal, torch.allclose, torch.equal]
        for function in functions:
            function(x, x)
    counts = {site.op: site.count for site in report.sites}
    assert counts == {"torch.nn.ReLU.forward": 2, "torch.nn.GELU.forward": 1, "torch.equal": 2, "torch.allclose": 1}


def test_the_outermost_torch_function_gives_the_name(cuda, blocking):
    blocking(torch.Tensor, "__bool__", ms=4.0)
    parameter = torch.nn.Parameter(torch.ones(2))
    parameter.grad = torch.ones(2)
    with syncwatch.watch() as report:
        torch.nn.utils.clip_grad_norm_([parameter], 1.0, error_if_nonfinite=True)
    ops = {site.op for site in report.sites}
    assert ops == {"torch.nn.utils.clip_grad_norm_"}
    assert report.wait_ms == pytest.approx(4.0 * report.count)


@pytest.mark.skipif(torch.cuda.is_available(), reason="for machines without a GPU")
def test_a_watch_without_a_device_says_so_once_and_lets_the_program_run():
    from syncwatch.runtime.source import UnwatchedWarning
    from syncwatch.runtime.watch import _warn_once

    _warn_once.cache_clear()

    @syncwatch.watch(max_syncs=0)
    def read():
        return torch.ones(()).item()

    with pytest.warns(UnwatchedWarning, match="no CUDA device was found here") as caught:
        assert read() + read() == 2.0
    assert len(caught) == 1
    assert read.watch.report.count == 0
    assert read.watch.report.limits == ["no CUDA device was found here: there was nothing to wait for"]


def test_a_torch_that_cannot_be_watched_does_not_stop_the_program(cuda, monkeypatch):
    from syncwatch.runtime.source import UnwatchedWarning
    from syncwatch.runtime.watch import _warn_once

    _warn_once.cache_clear()
    monkeypatch.setattr(torch, "__version__", "1.13.1")
    with pytest.warns(UnwatchedWarning, match="too old"), syncwatch.watch() as report:
        pass
    assert report.count == 0


def test_data_parallel_training_is_named_as_a_limit(cuda):
    import torch.distributed as dist

    dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    try:
        with syncwatch.watch() as report:
            model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(2, 2))
            model(torch.ones(1, 2)).sum().backward()
            dist.barrier()  # of gloo: no device is waited for
    finally:
        dist.destroy_process_group()
    assert report.count == 0
    (limit,) = report.limits
    assert limit.startswith("waits while DistributedDataParallel is set up are not counted")
    assert cuda.mode == 0


def test_what_data_parallel_training_waits_for_in_its_forward_pass(cuda, clock, monkeypatch):
    import torch.distributed as dist
    from torch._C._distributed_c10d import Logger

    before = Logger.set_runtime_stats_and_log
    dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    try:
        model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(2, 2))
        model.device_type = "cuda"  # as far as the hook looks
        with syncwatch.watch() as report:
            for _ in range(14):
                model(torch.ones(1, 2)).sum().backward()  # the line
    finally:
        dist.destroy_process_group()
    (first, second) = report.sites
    # statistics of the ten iterations after the first, eight events each; the buckets are built anew once
    assert (first.kind.value, first.count, second.kind.value, second.count) == ("event-wait", 80, "tensor-read", 2)
    assert {first.op, second.op} == {"torch.nn.parallel.DistributedDataParallel.forward"}
    assert first.function.endswith("test_what_data_parallel_training_waits_for_in_its_forward_pass")
    assert Logger.set_runtime_stats_and_log is before


@pytest.fixture
def replicas(cuda):
    """Makes DistributedDataParallel of two layers, the second of which is used only if asked for."""
    import torch.distributed as dist

    class TwoLayers(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.second = torch.nn.Linear(2, 2), torch.nn.Linear(2, 2)

        def forward(self, x, both=False):
            return self.second(self.first(x)) if both else self.first(x)

    def make(**options):
        model = torch.nn.parallel.DistributedDataParallel(TwoLayers(), **options)
        model.device_type = "cuda"  # as far as the hook looks
        return model

    dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    yield make
    dist.destroy_process_group()


def backwards(report):
    """Waits of the reducer in backward passes."""
    return sum(site.count for site in report.sites if site.op == "torch.Tensor.backward")


def test_a_backward_pass_that_leaves_parameters_out_waits_for_their_list(replicas):
    from torch.nn.parallel.distributed import _DDPSink

    before = _DDPSink.backward
    model, x = replicas(find_unused_parameters=True), torch.ones(1, 2)
    with syncwatch.watch() as report:
        model(x, both=True).sum().backward()
        model(x).sum().backward()  # waits
        loss = model(x).sum()
        loss.backward(retain_graph=True)  # waits
        loss.backward()  # the reducer sits this one out
    for site in (site for site in report.sites if site.op == "torch.Tensor.backward"):
        assert (site.kind.value, site.count, site.wait_ms) == ("tensor-read", 1, None)
    assert backwards(report) == 2
    assert _DDPSink.backward is before


def test_parameters_of_passes_without_synchronisation_are_not_left_out(replicas):
    model, x = replicas(find_unused_parameters=True), torch.ones(1, 2)
    with syncwatch.watch() as report:
        with model.no_sync():
            model(x, both=True).sum().backward()
        model(x).sum().backward()
    assert backwards(report) == 0
    with syncwatch.watch() as report:
        with model.no_sync():
            model(x).sum().backward()
        model(x).sum().backward()  # waits
    assert backwards(report) == 1


def test_a_static_graph_asks_for_unused_parameters_once(replicas):
    model, x = replicas(static_graph=True), torch.ones(1, 2)
    with syncwatch.watch() as report:
        for _ in range(3):
            model(x).sum().backward()  # waits the first time
    assert backwards(report) == 1


def test_blocking_launches_are_named_as_a_limit(cuda, monkeypatch):
    monkeypatch.setenv("CUDA_LAUNCH_BLOCKING", "1")
    with syncwatch.watch() as report:
        pass
    (limit,) = report.limits
    assert limit.startswith("CUDA_LAUNCH_BLOCKING is set: the host waits for every kernel")


def test_one_line_that_reads_in_two_ways_is_two_operations(cuda, blocking):
    blocking(torch.Tensor, "item")
    blocking(torch.Tensor, "tolist")
    value = torch.tensor(2.0)
    with syncwatch.watch() as report:
        for read in (value.item, value.tolist, value.item):
            read()
    assert {site.op: site.count for site in report.sites} == {"torch.Tensor.item": 2, "torch.Tensor.tolist": 1}


def test_what_python_has_shown_once_is_not_shown_again_for_a_watched_call(cuda):
    @syncwatch.watch
    def step():
        warnings.warn("a word of the program", DeprecationWarning)

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        with syncwatch.watch():
            pass  # the filter of ours is known from here on
        for _ in range(3):
            step()
    assert [str(warning.message) for warning in caught if warning.category is DeprecationWarning] == [
        "a word of the program"
    ]


def test_synchronize_is_explicit_and_timed(cuda, monkeypatch):
    monkeypatch.setattr(torch.cuda, "_lazy_init", lambda: None)
    monkeypatch.setattr(torch.cuda, "device", lambda *_: __import__("contextlib").nullcontext())
    with syncwatch.watch() as report:
        torch.cuda.synchronize()
    (site,) = report.sites
    assert (site.op, site.kind.value, site.explicit) == ("torch.cuda.synchronize", "device-wait", True)
    assert site.wait_ms == pytest.approx(5.0)


@pytest.mark.parametrize(
    "text",
    [
        "called a synchronizing CUDA operation (Triggered internally at ../c10/cuda/CUDAFunctions.cpp:142.)",
        "called a synchronizing CUDA operation (Triggered internally at /pytorch/c10/cuda/CUDAFunctions.h:108.)",
        "called a synchronizing CUDA operation (function warn_or_error_on_sync)",
        "called a synchronizing operation (Triggered internally at  ../c10/cuda/CUDAFunctions.h:92.)",
    ],
)
def test_the_texts_of_several_versions(cuda, text):
    cuda.TEXT = text
    with syncwatch.watch() as report:
        cuda.wait(1.0)
    assert report.count == 1


def test_other_warnings_pass(cuda):
    with pytest.warns(UserWarning, match="something else"), syncwatch.watch() as report:
        warnings.warn("something else", stacklevel=1)
    assert report.count == 0


def test_a_wait_that_python_has_warned_of_before_is_counted(cuda, clock):
    with warnings.catch_warnings():
        warnings.simplefilter("default")
        for _ in range(2):
            cuda.mode = 1  # the program's own
            cuda.wait(1.0)
            cuda.mode = 0
            clock.now += 2.0
            with syncwatch.watch() as report:
                cuda.wait(1.0)
            assert report.count == 1


def test_a_warning_to_the_caller_of_a_wrapped_operation_is_shown_at_the_programs_line(cuda, monkeypatch):
    def item(self):
        warnings.warn("a tensor that requires grad", stacklevel=2)
        return 1.0

    monkeypatch.setattr(torch.Tensor, "item", item)
    with warnings.catch_warnings(record=True) as caught, syncwatch.watch():
        warnings.simplefilter("always")
        torch.ones(()).item()  # the line
    (shown,) = caught
    assert shown.filename == __file__
    with open(__file__) as source:
        assert source.read().splitlines()[shown.lineno - 1].endswith("torch.ones(()).item()  # the line")


def test_the_programs_own_filters_do_not_hide_waits(cuda):
    with syncwatch.watch() as report:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            cuda.wait(1.0)
        with warnings.catch_warnings(record=True) as caught:
            warnings.resetwarnings()
            cuda.wait(1.0)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            cuda.wait(1.0)
    assert report.count == 3
    assert caught == []


def test_everything_is_as_before_after_an_exception(cuda):
    methods = dict(vars(torch.Tensor))
    functions = {name: vars(torch)[name] for name in ("nonzero", "unique", "tensor", "where")}
    show, filters = warnings._showwarnmsg, list(warnings.filters)

    def fails_while_armed():
        with syncwatch.watch():
            assert torch.Tensor.item is not methods.get("item")
            assert cuda.mode == 1
            return 1 / 0

    with pytest.raises(ZeroDivisionError):
        fails_while_armed()
    assert dict(vars(torch.Tensor)) == methods
    assert {name: vars(torch)[name] for name in functions} == functions
    assert warnings._showwarnmsg is show
    assert list(warnings.filters) == filters
    assert cuda.mode == 0


def test_the_mode_that_the_program_sets_is_kept_from_us_and_from_it(cuda):
    with syncwatch.watch() as report:
        cuda._cuda_set_sync_debug_mode(0)
        assert cuda._cuda_get_sync_debug_mode() == 0
        cuda.wait(1.0)
    assert report.count == 1


def test_nothing_is_replaced_before_the_device_is_set_up(cuda, monkeypatch):
    queued = []
    cuda.initialized = False
    monkeypatch.setattr(torch.cuda, "_lazy_call", queued.append)
    before = torch.Tensor.item
    with syncwatch.watch():
        assert torch.Tensor.item is before
        for call in queued:
            call()
        assert torch.Tensor.item is not before
    assert torch.Tensor.item is before
    for call in queued:  # the device is set up only after the watch has closed
        call()
    assert torch.Tensor.item is before


@pytest.mark.parametrize(
    ("version", "hip", "says"),
    [("2.3.1", None, "too old to be watched: install torch 2.4"), ("2.11.0", "6.2", "ROCm build")],
)
def test_torch_that_cannot_be_watched_is_named(version, hip, says):
    from types import SimpleNamespace

    from syncwatch.runtime.cuda.device import check_torch
    from syncwatch.runtime.source import Unsupported

    module = SimpleNamespace(__version__=version, version=SimpleNamespace(hip=hip))
    with pytest.raises(Unsupported, match=says):
        check_torch(module)


def test_blocks_leave_everything_as_it_was_however_closely_they_follow(cuda):
    before = torch.Tensor.item
    for _ in range(20):
        with syncwatch.watch():
            assert torch.Tensor.item is not before
        assert torch.Tensor.item is before


def test_wrappers_linger_between_the_calls_of_a_decorated_step(cuda, monkeypatch):
    from syncwatch.runtime.cuda import lingering

    monkeypatch.setattr(lingering, "SOON", 3600.0)
    monkeypatch.setattr(lingering, "SOONEST", 3600.0)

    @syncwatch.watch(max_syncs=1, warmup=20)
    def step(ms=1.0, times=1):
        for _ in range(times):
            cuda.wait(ms)

    before = torch.Tensor.item
    for _ in range(7):
        step()
        assert torch.Tensor.item is before
    step()
    assert torch.Tensor.item is not before  # the eighth removal is put off
    assert cuda.mode == 0
    cuda.wait(1.0)
    step()
    assert step.watch.report.count == 1
    with pytest.raises(TypeError):
        step("not a time")
    assert torch.Tensor.item is before  # an exception may end the program's loop
    for _ in range(12):
        step()
    assert torch.Tensor.item is not before
    with pytest.raises(syncwatch.SyncBudgetExceeded):
        step(times=2)
    assert torch.Tensor.item is before


def test_while_wrappers_linger_warnings_and_the_mode_are_the_programs_own(cuda, monkeypatch):
    from syncwatch.runtime.cuda import lingering

    monkeypatch.setattr(lingering, "SOONEST", 3600.0)
    monkeypatch.setattr(lingering, "SOON", 3600.0)

    @syncwatch.watch
    def step():
        cuda.wait(1.0)

    before = torch.Tensor.item, warnings._showwarnmsg, list(warnings.filters)
    for _ in range(8):
        step()
    assert torch.Tensor.item is not before[0]
    with pytest.warns(UserWarning, match="my own"):
        warnings.warn("my own", stacklevel=1)
    with pytest.warns(UserWarning, match="called a synchronizing CUDA operation, as they say"):
        warnings.warn("called a synchronizing CUDA operation, as they say", stacklevel=1)
    assert cuda._cuda_get_sync_debug_mode() == cuda.mode == 0
    cuda._cuda_set_sync_debug_mode(1)
    assert cuda._cuda_get_sync_debug_mode() == cuda.mode == 1
    with pytest.warns(UserWarning, match="synchronizing") as shown:
        step()  # the program wants to see its waits too
    assert (len(shown), step.watch.report.count, cuda.mode) == (1, 1, 1)
    assert (torch.Tensor.item, warnings._showwarnmsg) == before[:2]  # so nothing lingers now
    cuda._cuda_set_sync_debug_mode(0)
    for _ in range(8):
        step()
    warnings.resetwarnings()
    warnings.simplefilter("error")
    step()
    assert step.watch.report.count == 1
    with syncwatch.watch():
        pass
    assert warnings.filters == [("error", None, Warning, None, 0)]


def test_wrappers_that_linger_go_by_themselves(cuda):
    import time

    @syncwatch.watch
    def step():
        pass

    before = torch.Tensor.item
    for _ in range(10):
        step()
    until = time.monotonic() + 30.0
    while torch.Tensor.item is not before and time.monotonic() < until:
        time.sleep(0.01)
    assert torch.Tensor.item is before


def test_a_line_that_copies_both_ways_has_both_kinds(cuda, blocking):
    class OnDevice(torch.Tensor):
        device, is_cuda = torch.device("cuda"), True
        __torch_function__ = torch._C._disabled_torch_function_impl

    host, device = torch.ones(1), torch.ones(1).as_subclass(OnDevice)
    blocking(torch.Tensor, "copy_")
    with syncwatch.watch() as report:
        for target, origin in ((device, host), (host, device)) * 2:
            target.copy_(origin)
    assert {(site.kind.value, site.count) for site in report.sites} == {("upload", 2), ("tensor-read", 2)}


def test_operations_of_a_package_that_the_program_has_imported_are_watched(cuda, monkeypatch):
    import sys
    import types

    boxes = types.ModuleType("torchvision.ops.boxes")
    boxes.nms = nms = lambda boxes, scores, iou_threshold: torch.arange(len(boxes))
    monkeypatch.setitem(sys.modules, "torchvision.ops.boxes", boxes)
    with syncwatch.watch() as report:
        assert boxes.nms is not nms
        assert boxes.nms(torch.rand(3, 4), torch.rand(3), 0.5).tolist() == [0, 1, 2]
    assert boxes.nms is nms
    assert report.count == 0  # boxes in host memory

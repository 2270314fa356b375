"""`torch.cuda` and `torch.accelerator` of the emulated device."""

from __future__ import annotations

import pytest
import torch

from syncwatch.emulator import emulate

pytestmark = pytest.mark.usefixtures("device")


def test_there_is_a_gpu():
    assert torch.cuda.is_available()
    assert (torch.cuda.device_count(), torch.cuda.current_device()) == (1, 0)
    assert torch.cuda.get_device_name() == "emulated CUDA device"
    assert torch.cuda.get_device_capability() == (9, 0)
    assert torch.cuda.get_device_properties("cuda").total_memory == 80 << 30
    assert torch.cuda.is_bf16_supported()
    assert torch.accelerator.is_available()
    assert torch.accelerator.current_accelerator() == torch.device("cuda")
    assert torch.get_device_module("cuda") is torch.cuda


def test_several_gpus():
    from syncwatch.emulator.device import DEVICE

    DEVICE.off()
    try:
        with emulate(devices=2):
            assert torch.cuda.device_count() == 2
            first, second = torch.ones(2, device="cuda:0"), torch.ones(2).to("cuda:1")
            assert (first.device.index, second.device.index) == (0, 1)
            assert (second * 2).detach().device == torch.device("cuda:1")
            torch.cuda.set_device(1)
            assert torch.zeros(1, device="cuda").device.index == 1
            with torch.cuda.device(0):
                assert torch.zeros(1).cuda().device.index == 0
            assert first.to("cuda:1").device.index == 1
            with pytest.raises(RuntimeError, match="cuda:0 and cuda:1"):
                first + second
            model = torch.nn.Linear(2, 2).to("cuda:1")
            model(second).sum().backward()
            assert model.weight.grad.device.index == 1
    finally:
        DEVICE.on(1)


def test_streams_and_events():
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        assert torch.cuda.current_stream() == side
        start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        start.record()
        end.record()
    assert torch.cuda.current_stream() == torch.cuda.default_stream()
    torch.cuda.current_stream().wait_stream(side)
    end.synchronize()
    assert end.query()
    assert start.elapsed_time(end) >= 0
    with pytest.raises(ValueError, match="enable_timing"):
        torch.cuda.Event().elapsed_time(end)
    torch.ones(2, device="cuda").record_stream(side)
    assert isinstance(side, torch.cuda.Stream)
    assert isinstance(torch.Event("cuda"), torch.Event)


def test_memory_statistics_follow_the_tensors():
    torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_allocated()
    kept = torch.zeros(1000, device="cuda")
    view = kept[10:]
    assert torch.cuda.memory_allocated() - before == 4096
    del kept, view
    assert torch.cuda.memory_allocated() == before
    assert torch.cuda.max_memory_allocated() >= before + 4096
    assert torch.cuda.memory_stats()["allocated_bytes.all.current"] == before
    free, total = torch.cuda.mem_get_info()
    assert 0 < free <= total
    torch.cuda.empty_cache()


def test_random_numbers_of_the_device_leave_the_hosts_alone():
    torch.manual_seed(5)
    host = torch.rand(3)
    torch.manual_seed(5)
    torch.rand(100, device="cuda")
    torch.nn.functional.dropout(torch.ones(8, device="cuda"))
    assert torch.equal(torch.rand(3), host)

    state = torch.cuda.get_rng_state()
    first = torch.rand(3, device="cuda")
    torch.cuda.set_rng_state(state)
    assert torch.equal(torch.rand(3, device="cuda"), first)
    made = torch.Generator(device="cuda").manual_seed(3)
    assert made.device == torch.device("cuda", 0)
    assert isinstance(made, torch.Generator)
    drawn = torch.randperm(10, device="cuda", generator=made)
    again = torch.randperm(10, device="cuda", generator=torch.Generator("cuda").manual_seed(3))
    assert torch.equal(drawn, again)


def test_pinned_memory_and_loaders():
    x = torch.ones(4)
    pinned = x.pin_memory()
    assert (x.is_pinned(), pinned.is_pinned(), pinned[1:].is_pinned()) == (False, True, True)
    assert pinned.pin_memory() is pinned
    assert not pinned.clone().is_pinned()
    assert torch.empty(3, pin_memory=True).is_pinned()
    loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(torch.ones(5, 2)), 2, pin_memory=True)
    assert [batch[0].is_pinned() for batch in loader] == [True, True, True]


def test_the_default_device():
    torch.set_default_device("cuda")
    try:
        assert torch.zeros(2).is_cuda
        assert torch.tensor([1.0]).is_cuda
        assert torch.nn.Linear(2, 2).weight.is_cuda
        assert torch.get_default_device() == torch.device("cuda:0")
    finally:
        torch.set_default_device(None)
    with torch.device("cuda"):
        assert torch.ones(1).is_cuda
    assert not torch.ones(1).is_cuda


def test_mixed_precision():
    model = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.LayerNorm(8), torch.nn.Linear(8, 3)).cuda()
    optimizer = torch.optim.AdamW(model.parameters())
    scaler = torch.amp.GradScaler("cuda")
    before = model[0].weight.detach().clone()
    x, y = torch.randn(4, 8, device="cuda"), torch.randint(0, 3, (4,), device="cuda")
    with torch.autocast("cuda", dtype=torch.float16):
        assert model[0](x).dtype is torch.float16
        assert model[:2](x).dtype is torch.float32
        loss = torch.nn.functional.cross_entropy(model(x), y)
        assert loss.dtype is torch.float32
        with pytest.raises(RuntimeError, match="unsafe to autocast"):
            torch.nn.functional.binary_cross_entropy(torch.rand(2, device="cuda"), torch.rand(2, device="cuda"))
    assert model[0](x).dtype is torch.float32
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
    assert not torch.equal(before, model[0].weight)
    with torch.autocast("cuda", dtype=torch.bfloat16, enabled=False):
        assert model[0](x).dtype is torch.float32


def test_compile_runs_eagerly_and_says_so(capsys):
    from syncwatch.emulator import compiling

    compiling._said.clear()
    assert torch.compile(lambda v: v + 1)(torch.ones(1, device="cuda")).item() == 2

    @torch.compile(fullgraph=True)
    def doubled(v: torch.Tensor) -> torch.Tensor:
        return v * 2

    assert doubled(torch.ones(1, device="cuda")).item() == 2
    assert capsys.readouterr().err.count("runs eagerly") == 1


def test_functions_can_still_be_scripted():
    @torch.jit.script
    def made(v: torch.Tensor) -> torch.Tensor:
        return torch.zeros([2], dtype=v.dtype) + torch.tensor(1.0)

    assert made(torch.ones(1)).tolist() == [1, 1]


def test_indices_may_be_on_the_host_or_beside_what_they_index_and_nowhere_else():
    host, device, index = torch.ones(3), torch.ones(3, device="cuda"), torch.tensor([0, 2])
    assert device[index].tolist() == device[index.cuda()].tolist() == [1, 1]
    for refused in (lambda: host[index.cuda()], lambda: host.index_put_((index.cuda(),), host[:2])):
        with pytest.raises(RuntimeError, match=r"on the same device as the indexed tensor \(cpu\)"):
            refused()
    with pytest.raises(RuntimeError, match="found at least two devices"):
        device[index] = host[:2]
    device[index] = torch.tensor(2.0)
    assert device.tolist() == [2, 1, 2]


def test_no_library_of_nvidias_accepts_a_device_tensor(recwarn):
    assert not torch.backends.cudnn.is_acceptable(torch.ones(2, device="cuda"))
    assert not recwarn.list


def test_checkpointed_layers_drop_the_same_units_again():
    from torch.utils.checkpoint import checkpoint

    layers = torch.nn.Sequential(torch.nn.Linear(4, 16), torch.nn.Dropout(0.5), torch.nn.Linear(16, 4)).cuda()
    x = torch.randn(2, 4, device="cuda", requires_grad=True)
    grads = []
    for run in (
        layers,
        lambda x: checkpoint(layers, x, use_reentrant=True),
        lambda x: checkpoint(layers, x, use_reentrant=False),
    ):
        torch.manual_seed(1)
        grads.append(torch.autograd.grad(run(x).sum(), x)[0] if run is layers else _gradient(run, x))
    assert torch.equal(grads[0], grads[1])
    assert torch.equal(grads[0], grads[2])


def _gradient(run, x: torch.Tensor) -> torch.Tensor:
    run(x).sum().backward()
    grad, x.grad = x.grad, None
    return grad


def test_what_a_build_with_cuda_says_of_itself_and_keeps():
    from torch.cuda import tunable

    assert torch.cuda.nccl.version() >= (2, 20, 0)
    assert torch.backends.cudnn.is_available()
    assert torch.backends.cudnn.version() >= 90000
    assert not tunable.is_enabled()
    tunable.enable(True)
    tunable.set_max_tuning_duration(7)
    assert (tunable.is_enabled(), tunable.get_max_tuning_duration()) == (True, 7)
    tunable.enable(False)
    torch.cuda.set_sync_debug_mode("warn")
    assert torch.cuda.get_sync_debug_mode() == 1
    torch.cuda.set_sync_debug_mode("default")
    assert torch.cuda.memory.get_allocator_backend() == "native"
    address = torch.cuda.caching_allocator_alloc(1024)
    torch.cuda.caching_allocator_delete(address)
    assert "Allocated memory" in torch.cuda.memory_summary()
    assert torch.cuda.memory_stats_as_nested_dict()["allocated_bytes"]["all"]["current"] >= 0
    torch.cuda.profiler.start()
    torch.cuda.profiler.stop()


def test_the_current_stream_is_a_stream():
    assert isinstance(torch.cuda.current_stream(), torch.cuda.Stream)
    assert isinstance(torch.cuda.current_stream(), torch.cuda.streams.Stream)
    assert isinstance(torch.cuda.current_stream().record_event(), torch.cuda.Event)


def test_storages_are_made_and_moved_on_the_device():
    made = torch.UntypedStorage(8, device="cuda")
    assert (made.is_cuda, made.cpu().is_cuda, made.cpu().cuda().device) == (True, False, torch.device("cuda:0"))
    assert torch.cuda.FloatStorage(3).is_cuda
    assert torch.ones(2, device="cuda").is_shared()


def test_errors_that_programs_rely_on(tmp_path):
    with pytest.raises(torch.OutOfMemoryError, match=r"CUDA out of memory\. Tried to allocate 1048576\.00 GiB"):
        torch.empty(1 << 50, dtype=torch.uint8, device="cuda")
    for refused in (lambda: torch.ones(1, device="cuda:7"), lambda: torch.tensor(1, device="cuda:7")):
        with pytest.raises(RuntimeError, match="invalid device ordinal"):
            refused()
    with pytest.raises(AssertionError, match="Invalid device id"):
        torch.cuda.get_device_properties(5)
    torch.save(torch.ones(2), tmp_path / "host.pt")
    with pytest.raises(RuntimeError, match="Attempting to deserialize object on CUDA device 3"):
        torch.load(tmp_path / "host.pt", map_location="cuda:3")
    with pytest.raises(RuntimeError, match="'lengths' argument should be a 1D CPU int64 tensor"):
        torch.nn.utils.rnn.pack_padded_sequence(
            torch.ones(2, 3, 4, device="cuda"), torch.tensor([3, 2], device="cuda"), batch_first=True
        )


def test_the_old_default_tensor_type():
    torch.set_default_tensor_type("torch.cuda.FloatTensor")
    try:
        assert torch.zeros(2).is_cuda
        assert torch.nn.Linear(2, 2).weight.is_cuda
    finally:
        torch.set_default_tensor_type("torch.FloatTensor")
    assert not torch.zeros(2).is_cuda

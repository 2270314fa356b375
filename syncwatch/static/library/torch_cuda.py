"""torch.cuda and torch.accelerator: devices, streams, events, memory; generators and default devices."""

from __future__ import annotations

from syncwatch.static.library.protocol import ALIASES, BASES, LibCall, Machine, attribute, default, model
from syncwatch.static.library.tensors import given
from syncwatch.static.values import (
    BOOL,
    FALSE,
    FLOAT,
    INT,
    NONE,
    STR,
    TRUE,
    UNKNOWN,
    Const,
    Device,
    Host,
    Obj,
    Tensor,
    Tuple,
    Value,
    const,
)

ALIASES["torch.cuda.memory.empty_cache"] = "torch.cuda.empty_cache"
ALIASES["torch.cuda.streams.Stream"] = ALIASES["torch.Stream"] = "torch.cuda.Stream"
ALIASES["torch.cuda.streams.Event"] = ALIASES["torch.Event"] = "torch.cuda.Event"
ALIASES["torch.cuda.streams.ExternalStream"] = "torch.cuda.ExternalStream"
BASES["torch.cuda.ExternalStream"] = ("torch.cuda.Stream",)


@model(
    "torch.cuda.is_available",
    "torch.accelerator.is_available",
    "torch.backends.cuda.is_built",
    "torch.cuda._is_compiled",
    "torch.distributed.is_nccl_available",
)
def _available(m: Machine, call: LibCall) -> Value:
    """What the tool looks for happens on a machine with an accelerator."""
    return TRUE


@model(
    "torch.backends.mps.is_available",
    "torch.backends.mps.is_built",
    "torch.xpu.is_available",
    "torch.mps.is_available",
    "torch.npu.is_available",
    "torch.hpu.is_available",
    "torch.mtia.is_available",
    "torch.version.hip",
)
def _other_accelerators(m: Machine, call: LibCall) -> Value:
    """Asked before or after CUDA: one accelerator is enough."""
    return FALSE


@model(
    "torch.cuda.is_initialized",
    "torch.cuda.is_bf16_supported",
    "torch.cuda.is_current_stream_capturing",
    "torch.cuda.can_device_access_peer",
    "torch.cuda.is_tf32_supported",
    "torch.accelerator.is_initialized",
    "torch.compiler.is_compiling",
    "torch._dynamo.is_compiling",
    "torch.jit.is_scripting",
    "torch.jit.is_tracing",
    "torch.compiler.is_dynamo_compiling",
    "torch.onnx.is_in_onnx_export",
    "torch.cuda.is_in_bad_fork",
)
def _bool(m: Machine, call: LibCall) -> Value:
    return FALSE if call.name.endswith(("is_compiling", "is_scripting", "is_tracing", "onnx_export")) else BOOL


@model(
    "torch.cuda.device_count",
    "torch.accelerator.device_count",
    "torch.get_num_threads",
    "torch.initial_seed",
    "torch.seed",
    "torch.cuda.initial_seed",
    "torch.get_num_interop_threads",
)
def _count(m: Machine, call: LibCall) -> Value:
    return INT


@model("torch.cuda.current_device", "torch.accelerator.current_device_index", "torch.accelerator.current_device_idx")
def _current_device(m: Machine, call: LibCall) -> Value:
    return Host("int", "device")


@model("torch.accelerator.current_accelerator")
def _accelerator(m: Machine, call: LibCall) -> Value:
    return Device("cuda", -1, sure=False)


@default("torch.cuda.", "torch.accelerator.", "torch.backends.", "torch.version.", "torch.mps.", "torch.xpu.")
def _other(m: Machine, call: LibCall) -> Value:
    name = call.name.rpartition(".")[2]
    if name.startswith(("memory_", "max_memory", "reset", "utilization", "temperature", "power_draw")):
        return INT
    return UNKNOWN


@model("torch.cuda.mem_get_info")
def _mem_get_info(m: Machine, call: LibCall) -> Value:
    return Tuple((INT, INT))


@model("torch.cuda.memory_stats", "torch.cuda.memory_snapshot", "torch.accelerator.memory_stats")
def _memory_stats(m: Machine, call: LibCall) -> Value:
    return m.dict({}, INT)


@model("torch.cuda.get_device_name", "torch.cuda.memory_summary")
def _text(m: Machine, call: LibCall) -> Value:
    return STR


@model("torch.cuda.get_device_capability")
def _capability(m: Machine, call: LibCall) -> Value:
    return Tuple((INT, INT))


@model("torch.cuda.set_device", "torch.accelerator.set_device_index", "torch.accelerator.set_device_idx")
def _set_device(m: Machine, call: LibCall) -> Value:
    m.set_mode("set_device", TRUE)
    return NONE


@model("torch.cuda.synchronize", "torch.accelerator.synchronize", "torch.mps.synchronize", "torch.xpu.synchronize")
def _synchronize(m: Machine, call: LibCall) -> Value:
    m.waited()
    return NONE


@model(
    "torch.cuda.empty_cache",
    "torch.accelerator.empty_cache",
    "torch.cuda.ipc_collect",
    "torch.manual_seed",
    "torch.cuda.manual_seed",
    "torch.cuda.manual_seed_all",
    "torch.set_num_threads",
    "torch.cuda.init",
    "torch.cuda.reset_peak_memory_stats",
    "torch.use_deterministic_algorithms",
    "torch.set_float32_matmul_precision",
    "torch.set_default_dtype",
    "torch.set_printoptions",
    "torch.cuda.set_rng_state",
    "torch.set_rng_state",
    "torch.cuda.nvtx.range_push",
    "torch.cuda.nvtx.range_pop",
    "torch.cuda.nvtx.mark",
    "torch.cuda.set_sync_debug_mode",
    "torch.cuda.set_per_process_memory_fraction",
    "torch.set_num_interop_threads",
    "torch.set_grad_enabled_off",
    "torch.cuda.memory._record_memory_history",
)
def _none(m: Machine, call: LibCall) -> Value:
    return NONE


@model("torch.get_rng_state", "torch.cuda.get_rng_state", "torch.random.get_rng_state")
def _rng_state(m: Machine, call: LibCall) -> Value:
    return Tensor("cpu", shape=(None,), dtype="uint8", pinned=False, requires_grad=False)


@model("torch.set_default_device")
def _set_default_device(m: Machine, call: LibCall) -> Value:
    m.set_default_device(call.arg(0, "device", UNKNOWN))
    return NONE


@model("torch.get_default_device")
def _get_default_device(m: Machine, call: LibCall) -> Value:
    return m.default_device()


@model("torch.set_default_tensor_type")
def _set_default_type(m: Machine, call: LibCall) -> Value:
    value = call.arg(0, "t", UNKNOWN)
    name = value.value if type(value) is Const else getattr(value, "name", "")
    if isinstance(name, str):
        m.set_default_device(Device("cuda" if ".cuda." in name else "cpu"))
    return NONE


# ---------------------------------------------------------------------------------------- streams and events


@model("torch.cuda.current_stream", "torch.cuda.default_stream", "torch.accelerator.current_stream")
def _current_stream(m: Machine, call: LibCall) -> Value:
    made = m.new("torch.cuda.Stream")
    m.setattr(made, "<which>", const("current" if "current" in call.name else "default"))
    return made


@model("torch.cuda.stream", "torch.cuda.StreamContext", "torch.accelerator.stream")
def _stream_context(m: Machine, call: LibCall) -> Value:
    made = m.new("torch.cuda.StreamContext")
    m.setattr(made, "<stream>", call.arg(0, "stream", NONE))
    return made


@model("torch.cuda.StreamContext.__enter__", "torch.cuda.Stream.__enter__")
def _enter_stream(m: Machine, call: LibCall) -> Value:
    stream = call.self
    if type(stream) is Obj and stream.type == "torch.cuda.StreamContext":
        m.setattr(stream, "<before>", m.mode("stream") or NONE)
        stream = stream.slots.get("<stream>", NONE)
    elif type(stream) is Obj:
        m.setattr(stream, "<before>", m.mode("stream") or NONE)
    m.set_mode("stream", NONE if stream is None else stream)
    return UNKNOWN if stream is None else stream


@model("torch.cuda.StreamContext.__exit__", "torch.cuda.Stream.__exit__")
def _exit_stream(m: Machine, call: LibCall) -> Value:
    if type(call.self) is Obj:
        m.set_mode("stream", call.self.slots.get("<before>", NONE))
    return NONE


@model("torch.cuda.set_stream", "torch.accelerator.set_stream")
def _set_stream(m: Machine, call: LibCall) -> Value:
    m.set_mode("stream", call.arg(0, "stream", NONE))
    return NONE


@model("torch.cuda.Stream.synchronize", "torch.cuda.Event.synchronize")
def _wait(m: Machine, call: LibCall) -> Value:
    m.waited()
    return NONE


@model(
    "torch.cuda.Stream.wait_stream", "torch.cuda.Stream.wait_event", "torch.cuda.Event.wait", "torch.cuda.Event.record"
)
def _order(m: Machine, call: LibCall) -> Value:
    return NONE


@model("torch.cuda.Stream.record_event")
def _record_event(m: Machine, call: LibCall) -> Value:
    event = call.arg(0, "event")
    return event if given(event) else m.new("torch.cuda.Event")


@model("torch.cuda.Stream.query", "torch.cuda.Event.query")
def _query(m: Machine, call: LibCall) -> Value:
    return Host("bool", "query")


@model("torch.cuda.Event.elapsed_time")
def _elapsed(m: Machine, call: LibCall) -> Value:
    return FLOAT


@model(
    "torch.cuda.Stream.__init__",
    "torch.cuda.Event.__init__",
    "torch.cuda.CUDAGraph.__init__",
    "torch.cuda.ExternalStream.__init__",
)
def _made(m: Machine, call: LibCall) -> Value:
    if type(call.self) is Obj:
        for name, value in call.kwargs.items():
            m.setattr(call.self, name, value)
    return NONE


@attribute("torch.cuda.Stream.device", "torch.cuda.Event.device")
def _stream_device(m: Machine, value: Value, name: str) -> Value:
    return Device("cuda", None)


@model(
    "torch.cuda.device",
    "torch.cuda.device_of",
    "torch.accelerator.device_index",
    "torch.cuda.graph",
    "torch.cuda.nvtx.range",
    "torch.cuda.use_mem_pool",
)
def _context(m: Machine, call: LibCall) -> Value:
    return m.new(f"{call.name}_context")


@model(
    "torch.cuda.CUDAGraph.replay",
    "torch.cuda.CUDAGraph.capture_begin",
    "torch.cuda.CUDAGraph.capture_end",
    "torch.cuda.CUDAGraph.reset",
)
def _graph(m: Machine, call: LibCall) -> Value:
    return NONE


@model("torch.cuda.make_graphed_callables")
def _graphed(m: Machine, call: LibCall) -> Value:
    return call.arg(0, None, UNKNOWN)


@model("torch.cuda.get_device_properties")
def _properties(m: Machine, call: LibCall) -> Value:
    return m.new(
        "torch.cuda.DeviceProperties", name=STR, total_memory=INT, multi_processor_count=INT, major=INT, minor=INT
    )


# ---------------------------------------------------------------------------------------- generators


@model("torch.Generator.__init__")
def _generator(m: Machine, call: LibCall) -> Value:
    if type(call.self) is Obj:
        device = call.arg(0, "device")
        named = m.device_of(device) if given(device) else None
        m.setattr(call.self, "device", named or Device("cpu"))
    return NONE


@model("torch.Generator.manual_seed", "torch.Generator.set_state", "torch.Generator.clone_state")
def _seeded(m: Machine, call: LibCall) -> Value:
    return call.receiver


@model("torch.Generator.seed", "torch.Generator.initial_seed")
def _seed(m: Machine, call: LibCall) -> Value:
    return INT


BASES["torch.Generator"] = ()

"""Lightning: the hooks of its modules receive batches on the device."""

from __future__ import annotations

from syncwatch.static.library.protocol import ALIASES, BASES, LibCall, Machine, assumes, attribute, default, model
from syncwatch.static.values import (
    NONE,
    STR,
    UNKNOWN,
    Host,
    Iter,
    Obj,
    Tensor,
    Tuple,
    Value,
)

# ---------------------------------------------------------------------------------------- Lightning

_MODULE = "lightning.LightningModule"
_DATA = "lightning.LightningDataModule"
for _root in (
    "lightning",
    "lightning.pytorch",
    "pytorch_lightning",
    "lightning.pytorch.core",
    "pytorch_lightning.core",
    "lightning.pytorch.core.module",
    "pytorch_lightning.core.module",
    "pytorch_lightning.core.lightning",
):
    ALIASES[f"{_root}.LightningModule"] = _MODULE
    ALIASES[f"{_root}.LightningDataModule"] = _DATA
    ALIASES[f"{_root}.Trainer"] = "lightning.Trainer"
    ALIASES[f"{_root}.Callback"] = "lightning.Callback"
ALIASES["lightning.pytorch.callbacks.Callback"] = ALIASES["pytorch_lightning.callbacks.Callback"] = "lightning.Callback"
for _name in (_MODULE, _DATA, "lightning.Trainer", "lightning.Callback"):
    ALIASES.pop(_name, None)
BASES[_MODULE] = ("torch.nn.Module",)
BASES[_DATA] = ()

_STEPS = (
    "training_step",
    "validation_step",
    "test_step",
    "predict_step",
    "on_train_batch_start",
    "on_train_batch_end",
    "on_validation_batch_end",
    "on_before_batch_transfer",
    "on_after_batch_transfer",
    "training_step_end",
)


class _Batch:
    """Names of parameters of hooks that hold the batch."""

    NAMES = frozenset({"batch", "outputs", "loss", "inputs", "data", "x", "batch_parts"})


@assumes(*(f"{_MODULE}.{name}" for name in _STEPS), hot=True)
def _lightning_step(m: Machine, obj: Obj, name: str) -> Value:
    """Lightning hands over batches on the device."""
    if name in ("batch_idx", "batch_nb", "dataloader_idx", "optimizer_idx"):
        return Host("int", "step" if name.startswith("batch") else "")
    if name in _Batch.NAMES:
        return assumed_batch(m)
    return UNKNOWN


def assumed_batch(m: Machine) -> Value:
    """A batch on the accelerator: whatever is taken out of it is a tensor there."""
    made = m.new("syncwatch.DeviceBatch")
    accelerator = m.accelerator()
    entry = Tensor(accelerator.type, accelerator.sure, requires_grad=False, marks=frozenset({"guessed"}))
    m.setattr(made, "<device>", entry)
    return made


def _batch_tensor(obj: Value) -> Value:
    held = obj.slots.get("<device>") if type(obj) is Obj else None
    return held if type(held) is Tensor else UNKNOWN


@model("syncwatch.DeviceBatch.__getitem__", "syncwatch.DeviceBatch.get", "syncwatch.DeviceBatch.pop")
def _batch_item(m: Machine, call: LibCall) -> Value:
    return _batch_tensor(call.self)


@model("syncwatch.DeviceBatch.__iter__")
def _batch_iter(m: Machine, call: LibCall) -> Value:
    return Iter(None, _batch_tensor(call.self))


@model("syncwatch.DeviceBatch.items")
def _batch_items(m: Machine, call: LibCall) -> Value:
    return Iter(None, Tuple((STR, _batch_tensor(call.self))))


@model("syncwatch.DeviceBatch.keys")
def _batch_keys(m: Machine, call: LibCall) -> Value:
    return Iter(None, STR)


@model("syncwatch.DeviceBatch.values")
def _batch_values(m: Machine, call: LibCall) -> Value:
    return Iter(None, _batch_tensor(call.self))


@model("syncwatch.DeviceBatch.to", "syncwatch.DeviceBatch.cuda", "syncwatch.DeviceBatch.__enter__")
def _batch_to(m: Machine, call: LibCall) -> Value:
    return call.receiver


@default("syncwatch.DeviceBatch.")
def _batch_method(m: Machine, call: LibCall) -> Value:
    """The batch may be a tensor itself."""
    tensor = _batch_tensor(call.self)
    return (
        m.method(tensor, call.name.rpartition(".")[2], call.args, dict(call.kwargs))
        if tensor is not UNKNOWN
        else UNKNOWN
    )


@attribute("syncwatch.DeviceBatch.shape", "syncwatch.DeviceBatch.device", "syncwatch.DeviceBatch.dtype")
def _batch_attribute(m: Machine, obj: Value, name: str) -> Value:
    return m.getattr(_batch_tensor(obj), name)


@attribute(f"{_MODULE}.device")
def _module_device(m: Machine, obj: Value, name: str) -> Value:
    return m.accelerator()


@attribute(f"{_MODULE}.global_step", f"{_MODULE}.current_epoch", f"{_MODULE}.global_rank", f"{_MODULE}.local_rank")
def _module_number(m: Machine, obj: Value, name: str) -> Value:
    return Host("int", "rank" if name.endswith("rank") else "step")


@attribute(f"{_MODULE}.hparams")
def _hparams(m: Machine, obj: Value, name: str) -> Value:
    found = obj.slots.get("<hparams>") if type(obj) is Obj else None
    return UNKNOWN if found is None else found


@attribute(f"{_MODULE}.trainer", f"{_MODULE}.logger")
def _trainer(m: Machine, obj: Value, name: str) -> Value:
    return UNKNOWN


@model(
    f"{_MODULE}.log",
    f"{_MODULE}.log_dict",
    f"{_MODULE}.save_hyperparameters",
    f"{_MODULE}.manual_backward",
    f"{_MODULE}.toggle_optimizer",
    f"{_MODULE}.untoggle_optimizer",
    f"{_MODULE}.clip_gradients",
    f"{_MODULE}.print",
    f"{_DATA}.save_hyperparameters",
    f"{_DATA}.__init__",
)
def _module_none(m: Machine, call: LibCall) -> Value:
    """Logging keeps device values where they are, and reads them when the logger is due."""
    if call.name.endswith("manual_backward"):
        return m.method(call.arg(0, "loss", UNKNOWN), "backward")
    if call.name.endswith("print"):
        for value in call.args:
            m.format(value, "print")
    return NONE


@model(f"{_MODULE}.optimizers", f"{_MODULE}.lr_schedulers", f"{_MODULE}.all_gather")
def _module_unknown(m: Machine, call: LibCall) -> Value:
    if call.name.endswith("all_gather"):
        return call.arg(0, "data", UNKNOWN)
    return UNKNOWN


@default("lightning.", "pytorch_lightning.", "ignite.", "fastai.", "composer.", "catalyst.")
def _lightning_other(m: Machine, call: LibCall) -> Value:
    return UNKNOWN

"""timm, torchvision and torchmetrics: models, transforms, datasets and metrics."""

from __future__ import annotations

import re

from syncwatch.static.library.modules import loaded, where_of
from syncwatch.static.library.protocol import (
    BASES,
    MODELS,
    PREFIX_BASES,
    LibCall,
    Machine,
    attribute,
    default,
    model,
)
from syncwatch.static.library.tensors import Where, given, replaced, result, tensors
from syncwatch.static.library.torch_layer_calls import output
from syncwatch.static.values import (
    INT,
    NONE,
    TRUE,
    UNKNOWN,
    Bound,
    Host,
    Iter,
    Lib,
    Obj,
    Tensor,
    Tuple,
    Value,
)

_PRETRAINED = "torchvision.PretrainedModel"
BASES[_PRETRAINED] = ("torch.nn.Module",)
_PART = re.compile(
    r"^(features|classifier|fc|heads?|layers?\d*|conv\d*|bn\d*|relu|act\d*|maxpool|avgpool|backbone|encoder|decoder|stem|"
    r"blocks|norm|patch_embed|rpn|roi_heads|conv_\w+|stages?|body|fpn|proj|Mixed_\w+|Conv2d_\w+|transition\d|denseblock\d)$"
)


@attribute(f"{_PRETRAINED}.*")
def _part(m: Machine, obj: Value, name: str) -> Value:
    """A part of a model, which moves with it."""
    if type(obj) is not Obj or not _PART.match(name):
        return Bound(Lib(f"torch.nn.Module.{name}"), obj) if f"torch.nn.Module.{name}" in MODELS else UNKNOWN
    with m.part(("part", name)):
        made = m.new(_PRETRAINED)
    for slot in ("training", "<weights>"):
        if slot in obj.slots:
            m.setattr(made, slot, obj.slots[slot])
    m.setattr(obj, name, made)
    return made


@model(f"{_PRETRAINED}.__call__", f"{_PRETRAINED}.forward")
def _run(m: Machine, call: LibCall) -> Value:
    """Scores; of detectors and segmenters, dictionaries of them."""
    made = output(m, call)
    images = call.arg(0, "images")
    if made.device == "cuda" and (type(images) is Tuple or (type(images) is Obj and images.type == "list")):
        # a detector, which takes a list of images, picks its proposals by masks
        m.ask("torch.nonzero", [replaced(made, shape=(None,), dtype="bool", requires_grad=False)])
        return replaced(made, shape=None, dtype=None, marks=made.marks | {"open", "guessed"})
    if type(call.self) is Obj and "<open>" in call.self.slots:
        return replaced(made, shape=None, dtype=None, marks=made.marks | {"open", "guessed"})
    return made


@model(f"{_PRETRAINED}.__getitem__")
def _layer(m: Machine, call: LibCall) -> Value:
    """A layer of a part, or several: they are where the part is."""
    return call.receiver


@model(f"{_PRETRAINED}.__iter__", f"{_PRETRAINED}.children", f"{_PRETRAINED}.modules")
def _layers(m: Machine, call: LibCall) -> Value:
    return Iter(None, call.receiver)


@model(f"{_PRETRAINED}.__len__")
def _length(m: Machine, call: LibCall) -> Value:
    return INT


@default(
    "timm.",
    "torchvision.",
    "torchaudio.",
    "open_clip.",
    "clip.",
    "peft.",
    "segmentation_models_pytorch.",
    "efficientnet_pytorch.",
    "ultralytics.",
)
def _model_library(m: Machine, call: LibCall) -> Value:
    name = call.name.rpartition(".")[2]
    if call.name in ("timm.create_model", "timm.models.create_model") or (
        call.name.startswith("torchvision.models.")
        and name.islower()
        and call.self is None
        and "weights" not in name
        and (name == "get_model" or not name.startswith(("get_", "list_")))
    ):
        made = loaded(m, _PRETRAINED)
        if ".detection." in call.name or ".segmentation." in call.name:
            m.setattr(made, "<open>", TRUE)
        return made
    if call.name.startswith(("torchvision.transforms.functional.", "torchvision.transforms.v2.functional.")):
        first = call.arg(0, None, UNKNOWN)
        if name in ("to_tensor", "pil_to_tensor", "to_image"):
            return Tensor(
                "cpu",
                shape=(None, None, None),
                dtype="float" if name == "to_tensor" else "uint8",
                pinned=False,
                dense=True,
                requires_grad=False,
            )
        return result([first], None, "float") if type(first) is Tensor else UNKNOWN
    if call.name.startswith("torchvision.transforms.") and name in ("__call__", "forward"):
        first = call.arg(0, None, UNKNOWN)
        return result([first], None, first.dtype) if type(first) is Tensor else UNKNOWN
    if call.name.startswith("torchvision.ops."):
        found = tensors([*call.args, *call.kwargs.values()])
        if not found:
            return UNKNOWN
        if name in ("nms", "batched_nms"):
            return result(found, (None,), "int", grad=False)
        return result(found, None, "float")
    return UNKNOWN


@model("torchvision.transforms.Compose.__init__")
def _compose(m: Machine, call: LibCall) -> Value:
    if type(call.self) is Obj:
        m.setattr(call.self, "transforms", call.arg(0, "transforms", UNKNOWN))
    return NONE


@model("torchvision.transforms.Compose.__call__")
def _compose_call(m: Machine, call: LibCall) -> Value:
    value = call.arg(0, "img", UNKNOWN)
    inner = m.iterate(call.self.slots.get("transforms", UNKNOWN)) if type(call.self) is Obj else None
    for transform in (inner.items or ()) if inner is not None else ():
        value = m.call(transform, (value,))
    return value


@model("torchvision.transforms.ToTensor.__call__", "torchvision.transforms.PILToTensor.__call__")
def _to_tensor(m: Machine, call: LibCall) -> Value:
    return Tensor("cpu", shape=(None, None, None), dtype="float", pinned=False, dense=True, requires_grad=False)


@model(
    *(
        f"torchvision.transforms.{name}.__call__"
        for name in (
            "Normalize",
            "Resize",
            "CenterCrop",
            "RandomCrop",
            "RandomHorizontalFlip",
            "RandomVerticalFlip",
            "RandomResizedCrop",
            "ColorJitter",
            "RandomRotation",
            "RandomErasing",
            "Pad",
            "ConvertImageDtype",
            "GaussianBlur",
            "Grayscale",
            "RandomAffine",
            "RandomApply",
            "Lambda",
            "ToPILImage",
        )
    )
)
def _transform(m: Machine, call: LibCall) -> Value:
    first = call.arg(0, None, UNKNOWN)
    return (
        result([first], None, first.dtype)
        if type(first) is Tensor and not call.name.endswith("Image.__call__")
        else UNKNOWN
    )


_NAMES = """MNIST FashionMNIST CIFAR10 CIFAR100 ImageFolder ImageNet SVHN STL10 KMNIST EMNIST DatasetFolder FakeData
        OxfordIIITPet Flowers102 Food101 StanfordCars Caltech101 EuroSAT"""
for _name in _NAMES.split():
    BASES[f"torchvision.datasets.{_name}"] = ("torchvision.datasets.VisionDataset",)
BASES["torchvision.datasets.VisionDataset"] = ("torch.utils.data.Dataset",)


@model("torchvision.datasets.VisionDataset.__init__")
def _vision(m: Machine, call: LibCall) -> Value:
    if type(call.self) is Obj:
        transform = call.kwargs.get("transform", call.arg(2) if len(call.args) > 2 else None)
        if transform is None and len(call.args) == 2 and call.self.type in ("torchvision.datasets.ImageFolder",):
            transform = call.args[1]
        m.setattr(call.self, "transform", transform if transform is not None else NONE)
    return NONE


@model("torchvision.datasets.VisionDataset.__getitem__")
def _vision_item(m: Machine, call: LibCall) -> Value:
    """(image, label): what the transform makes of an image, and the class's number."""
    transform = call.self.slots.get("transform", NONE) if type(call.self) is Obj else NONE
    image = m.call(transform, (UNKNOWN,)) if given(transform) else Host("PIL.Image.Image")
    return Tuple((image, INT))


_METRIC = "torchmetrics.Metric"
PREFIX_BASES.append(("torchmetrics.", _METRIC))
BASES[_METRIC] = ("torch.nn.Module",)


@model(f"{_METRIC}.__init__", f"{_METRIC}.reset")
def _metric(m: Machine, call: LibCall) -> Value:
    if type(call.self) is Obj and call.name.endswith("__init__"):
        m.setattr(call.self, "training", TRUE)
        m.setattr(call.self, "<weights>", Tensor("cpu", shape=None, dtype="float", requires_grad=False))
        m.setattr(call.self, "<buffer><weights>", TRUE)
    return NONE


@model(f"{_METRIC}.__call__", f"{_METRIC}.forward", f"{_METRIC}.compute")
def _metric_value(m: Machine, call: LibCall) -> Value:
    found = tensors(call.args)
    own = where_of(call.self) if type(call.self) is Obj else None
    if not found and own is None:
        return UNKNOWN
    place: Where | None = None if found else own
    return result(found, None, "float", place=place, grad=False)


@model(f"{_METRIC}.update")
def _metric_update(m: Machine, call: LibCall) -> Value:
    return NONE


@default("torchmetrics.functional.")
def _metric_function(m: Machine, call: LibCall) -> Value:
    found = tensors(call.args)
    return result(found, None, "float", grad=False) if found else UNKNOWN


@model("evaluate.load", "datasets.load_metric", "evaluate.combine")
def _hub_metric(m: Machine, call: LibCall) -> Value:
    return m.new("evaluate.EvaluationModule")


@model(*(f"evaluate.EvaluationModule.{verb}" for verb in ("add", "add_batch", "compute")))
def _hub_values(m: Machine, call: LibCall) -> Value:
    """What it is given is stored in tables of the host."""
    for value in tensors([*call.args, *call.kwargs.values()])[:1]:
        m.ask("torch.Tensor.cpu", [value])
    return UNKNOWN

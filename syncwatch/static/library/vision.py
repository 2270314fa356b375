"""timm, torchvision and torchmetrics: models, transforms, datasets and metrics."""

from __future__ import annotations

from syncwatch.static.library.modules import loaded, where_of
from syncwatch.static.library.protocol import (
    BASES,
    PREFIX_BASES,
    LibCall,
    Machine,
    default,
    model,
)
from syncwatch.static.library.tensors import Where, given, result, tensors
from syncwatch.static.values import (
    INT,
    NONE,
    TRUE,
    UNKNOWN,
    Host,
    Obj,
    Tensor,
    Value,
)


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
        and not name.startswith(("get_", "list_"))
    ):
        return loaded(m, "torch.nn.Module")
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
    from syncwatch.static.values import Tuple

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

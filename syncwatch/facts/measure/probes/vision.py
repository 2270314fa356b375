"""torchvision: operations, transforms, detection models. Nothing where torchvision is not installed."""

# mypy: disable-error-code="misc, no-untyped-call, no-any-return"
from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Callable, Iterator
from typing import Any

import torch

from syncwatch.facts.measure.probes import Program, probe

Table = dict[str, tuple[Callable[[], Any], Callable[..., Any]]]


def programs(device: str) -> Iterator[Program]:
    if importlib.util.find_spec("torchvision") is None:
        return
    for side, where in (("", device), (" host", "cpu")):
        for table in (_boxes(where), _regions(where), _losses(where), _layers(where)):
            for name, (setup, act) in table.items():
                yield probe(f"{name}{side}", setup, act)
        for table in (_transforms(where), _older_transforms(where), _classes(where), _utilities(where)):
            for name, (setup, act) in table.items():
                yield probe(f"{name}{side}", setup, act)
    for name, (setup, act) in _models(device).items():
        yield probe(name, setup, act)


def _load(name: str) -> Any:
    return importlib.import_module(name)


def boxes(where: str, count: int = 20) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Boxes, scores and classes."""
    corner = torch.rand(count, 2, device=where) * 4
    both = torch.cat([corner, corner + 1 + torch.rand(count, 2, device=where)], 1)
    return both, torch.rand(count, device=where), torch.arange(count, device=where) % 3


def _boxes(where: str) -> Table:
    ops = _load("torchvision.ops")

    pair: Callable[[], Any] = lambda: (boxes(where)[0], boxes(where)[0])  # noqa: E731
    one: Callable[[], Any] = lambda: boxes(where)[0]  # noqa: E731
    return {
        "ops.nms": (lambda: boxes(where), lambda b, s, c: ops.nms(b, s, 0.5)),
        "ops.nms of nothing": (lambda: boxes(where, 0), lambda b, s, c: ops.nms(b, s, 0.5)),
        "ops.batched_nms": (lambda: boxes(where), lambda b, s, c: ops.batched_nms(b, s, c, 0.5)),
        "ops.batched_nms of nothing": (lambda: boxes(where, 0), lambda b, s, c: ops.batched_nms(b, s, c, 0.5)),
        "ops.batched_nms of many": (lambda: boxes(where, 30_000), lambda b, s, c: ops.batched_nms(b, s, c, 0.5)),
        "ops.box_area": (one, lambda *given: ops.box_area(*given)),
        "ops.box_convert": (one, lambda b: ops.box_convert(b, "xyxy", "cxcywh")),
        "ops.box_convert back": (one, lambda b: ops.box_convert(b, "xywh", "xyxy")),
        "ops.box_iou": (pair, lambda *given: ops.box_iou(*given)),
        "ops.generalized_box_iou": (pair, lambda *given: ops.generalized_box_iou(*given)),
        "ops.complete_box_iou": (pair, lambda *given: ops.complete_box_iou(*given)),
        "ops.distance_box_iou": (pair, lambda *given: ops.distance_box_iou(*given)),
        "ops.clip_boxes_to_image": (one, lambda b: ops.clip_boxes_to_image(b, (4, 4))),
        "ops.remove_small_boxes": (one, lambda b: ops.remove_small_boxes(b, 0.5)),
        "ops.masks_to_boxes": (lambda: torch.ones(3, 8, 8, device=where), lambda m: ops.masks_to_boxes(m)),
        "ops.masks_to_boxes of nothing": (lambda: torch.ones(0, 8, 8, device=where), lambda m: ops.masks_to_boxes(m)),
    }


def _regions(where: str) -> Table:
    ops = _load("torchvision.ops")

    def regions() -> tuple[torch.Tensor, torch.Tensor]:
        first = boxes(where, 4)[0]
        return torch.rand(2, 4, 8, 8, device=where), torch.cat([torch.zeros(4, 1, device=where), first], 1)

    def listed() -> tuple[torch.Tensor, list[torch.Tensor]]:
        return torch.rand(2, 4, 8, 8, device=where), [boxes(where, 2)[0], boxes(where, 3)[0]]

    def deformed() -> tuple[torch.Tensor, ...]:
        return (
            torch.rand(1, 2, 6, 6, device=where),
            torch.rand(1, 18, 4, 4, device=where),
            torch.rand(3, 2, 3, 3, device=where),
        )

    def levels() -> Any:
        pooler = ops.MultiScaleRoIAlign(["a", "b"], 2, 2)
        features = {"a": torch.rand(2, 4, 16, 16, device=where), "b": torch.rand(2, 4, 8, 8, device=where)}
        return pooler, features, [boxes(where, 2)[0], boxes(where, 3)[0]], [(32, 32), (32, 32)]

    return {
        "ops.roi_align": (regions, lambda x, r: ops.roi_align(x, r, 2)),
        "ops.roi_align of a list": (listed, lambda x, r: ops.roi_align(x, r, 2)),
        "ops.roi_pool": (regions, lambda x, r: ops.roi_pool(x, r, 2)),
        "ops.roi_pool of a list": (listed, lambda x, r: ops.roi_pool(x, r, 2)),
        "ops.ps_roi_align": (regions, lambda x, r: ops.ps_roi_align(x, r, 2)),
        "ops.ps_roi_pool": (regions, lambda x, r: ops.ps_roi_pool(x, r, 2)),
        "ops.deform_conv2d": (deformed, lambda *given: ops.deform_conv2d(*given)),
        "RoIAlign": (lambda: (ops.RoIAlign(2, 1.0, 2), *regions()), lambda m, x, r: m(x, r)),
        "RoIPool": (lambda: (ops.RoIPool(2, 1.0), *regions()), lambda m, x, r: m(x, r)),
        "PSRoIAlign": (lambda: (ops.PSRoIAlign(2, 1.0, 2), *regions()), lambda m, x, r: m(x, r)),
        "PSRoIPool": (lambda: (ops.PSRoIPool(2, 1.0), *regions()), lambda m, x, r: m(x, r)),
        "DeformConv2d": (
            lambda: (ops.DeformConv2d(2, 3, 3).to(where), *deformed()[:2]),
            lambda m, x, o: m(x, o),
        ),
        "MultiScaleRoIAlign": (levels, lambda m, x, b, s: m(x, b, s)),
        "FeaturePyramidNetwork": (
            lambda: (ops.FeaturePyramidNetwork([4, 4], 4).to(where), levels()[1]),
            lambda m, x: m(x),
        ),
    }


def _losses(where: str) -> Table:
    ops = _load("torchvision.ops")

    pair: Callable[[], Any] = lambda: (boxes(where)[0], boxes(where)[0])  # noqa: E731

    def scores() -> tuple[torch.Tensor, torch.Tensor]:
        return torch.randn(4, 3, device=where), (torch.rand(4, 3, device=where) > 0.5).float()

    return {
        "ops.sigmoid_focal_loss": (scores, lambda *given: ops.sigmoid_focal_loss(*given)),
        "ops.sigmoid_focal_loss, mean": (scores, lambda x, y: ops.sigmoid_focal_loss(x, y, reduction="mean")),
        "ops.generalized_box_iou_loss": (pair, lambda *given: ops.generalized_box_iou_loss(*given)),
        "ops.generalized_box_iou_loss, mean": (pair, lambda x, y: ops.generalized_box_iou_loss(x, y, "mean")),
        "ops.complete_box_iou_loss": (pair, lambda *given: ops.complete_box_iou_loss(*given)),
        "ops.distance_box_iou_loss": (pair, lambda *given: ops.distance_box_iou_loss(*given)),
    }


def _layers(where: str) -> Table:
    ops = _load("torchvision.ops")

    image: Callable[[], torch.Tensor] = lambda: torch.rand(2, 4, 8, 8, device=where)  # noqa: E731
    return {
        "ops.stochastic_depth": (image, lambda x: ops.stochastic_depth(x, 0.5, "row")),
        "ops.stochastic_depth of the batch": (image, lambda x: ops.stochastic_depth(x, 0.5, "batch")),
        "ops.drop_block2d": (image, lambda x: ops.drop_block2d(x, 0.2, 3)),
        "ops.drop_block3d": (
            lambda: torch.rand(1, 2, 6, 6, 6, device=where),
            lambda x: ops.drop_block3d(x, 0.2, 3),
        ),
        "StochasticDepth": (lambda: (ops.StochasticDepth(0.5, "row"), image()), lambda m, x: m(x)),
        "DropBlock2d": (lambda: (ops.DropBlock2d(0.2, 3), image()), lambda m, x: m(x)),
        "FrozenBatchNorm2d": (lambda: (ops.FrozenBatchNorm2d(4).to(where), image()), lambda m, x: m(x)),
        "SqueezeExcitation": (lambda: (ops.SqueezeExcitation(4, 2).to(where), image()), lambda m, x: m(x)),
        "Conv2dNormActivation": (lambda: (ops.Conv2dNormActivation(4, 4).to(where), image()), lambda m, x: m(x)),
        "MLP": (lambda: (ops.MLP(4, [4, 2]).to(where), torch.rand(2, 4, device=where)), lambda m, x: m(x)),
        "Permute": (lambda: (ops.Permute([0, 2, 3, 1]), image()), lambda m, x: m(x)),
    }


# function: its further arguments
_ARGUMENTS: dict[str, tuple[Any, ...]] = {
    "normalize": ([0.5] * 3, [0.5] * 3),
    "resize": ([6, 6],),
    "crop": (1, 1, 4, 4),
    "center_crop": ([4, 4],),
    "five_crop": ([4, 4],),
    "hflip": (),
    "vflip": (),
    "horizontal_flip": (),
    "vertical_flip": (),
    "pad": ([1],),
    "rotate": (30.0,),
    "affine": (30.0, [1, 1], 1.0, [0.0, 0.0]),
    "perspective": ([[0, 0], [7, 0], [7, 7], [0, 7]], [[1, 0], [7, 0], [7, 7], [0, 7]]),
    "gaussian_blur": ([3, 3],),
    "gaussian_noise": (),
    "adjust_brightness": (1.2,),
    "adjust_contrast": (1.2,),
    "adjust_saturation": (1.2,),
    "adjust_hue": (0.1,),
    "adjust_gamma": (1.2,),
    "adjust_sharpness": (1.2,),
    "autocontrast": (),
    "invert": (),
    "solarize": (0.5,),
    "rgb_to_grayscale": (),
    "erase": (1, 1, 2, 2, 0.0),
    "resized_crop": (1, 1, 4, 4, [6, 6]),
    "to_dtype": (torch.float16,),
    "convert_image_dtype": (torch.uint8,),
}
_OF_BYTES: dict[str, tuple[Any, ...]] = {"equalize": (), "posterize": (4,), "convert_image_dtype": (torch.float32,)}
_NEWER = """
normalize resize crop center_crop five_crop horizontal_flip vertical_flip pad rotate affine perspective gaussian_blur
gaussian_noise adjust_brightness adjust_contrast adjust_saturation adjust_hue adjust_gamma adjust_sharpness autocontrast
invert solarize rgb_to_grayscale resized_crop to_dtype
"""
_OLDER = """
normalize resize crop center_crop five_crop hflip vflip pad rotate affine perspective gaussian_blur adjust_brightness
adjust_contrast adjust_saturation adjust_hue adjust_gamma adjust_sharpness autocontrast invert solarize
rgb_to_grayscale resized_crop convert_image_dtype
"""


def _image(where: str) -> torch.Tensor:
    return torch.rand(3, 8, 8, device=where)


def _bytes(where: str) -> torch.Tensor:
    return torch.randint(0, 255, (3, 8, 8), dtype=torch.uint8, device=where)


def _module(name: str, title: str, where: str, names: str) -> Table:
    module = importlib.import_module(name)
    table: Table = {}
    for function in names.split():
        if hasattr(module, function):
            table[f"{title}.{function}"] = (
                lambda: _image(where),
                lambda x, f=function: getattr(module, f)(x, *_ARGUMENTS[f]),
            )
    for function, arguments in _OF_BYTES.items():
        if hasattr(module, function):
            table[f"{title}.{function} of bytes"] = (
                lambda: _bytes(where),
                lambda x, f=function, a=arguments: getattr(module, f)(x, *a),
            )
    table[f"{title}.erase"] = (
        lambda: (_image(where), torch.zeros(3, 2, 2, device=where)),
        lambda x, v: module.erase(x, 1, 1, 2, 2, v),
    )
    table[f"{title}.elastic"] = (
        lambda: (_image(where), torch.zeros(1, 8, 8, 2, device=where)),
        lambda x, d: (module.elastic if hasattr(module, "elastic") else module.elastic_transform)(x, d),
    )
    table[f"{title}.normalize in place"] = (
        lambda: _image(where),
        lambda x: module.normalize(x, [0.5] * 3, [0.5] * 3, inplace=True),
    )
    return table


def _transforms(where: str) -> Table:
    return _module("torchvision.transforms.v2.functional", "v2.functional", where, _NEWER)


def _older_transforms(where: str) -> Table:
    return _module("torchvision.transforms.functional", "functional", where, _OLDER)


def _classes(where: str) -> Table:
    transforms, v2 = _load("torchvision.transforms"), _load("torchvision.transforms.v2")

    made: dict[str, Callable[[], Any]] = {
        "Normalize": lambda: v2.Normalize([0.5] * 3, [0.5] * 3),
        "Resize": lambda: v2.Resize((6, 6)),
        "RandomResizedCrop": lambda: v2.RandomResizedCrop((6, 6)),
        "RandomCrop": lambda: v2.RandomCrop((6, 6)),
        "RandomHorizontalFlip": lambda: v2.RandomHorizontalFlip(),
        "ColorJitter": lambda: v2.ColorJitter(0.1, 0.1, 0.1, 0.1),
        "RandomRotation": lambda: v2.RandomRotation(30),
        "RandomAffine": lambda: v2.RandomAffine(30),
        "RandomPerspective": lambda: v2.RandomPerspective(p=1.0),
        "GaussianBlur": lambda: v2.GaussianBlur(3),
        "RandomErasing": lambda: v2.RandomErasing(p=1.0),
        "RandomGrayscale": lambda: v2.RandomGrayscale(p=1.0),
        "ToDtype": lambda: v2.ToDtype(torch.float16, scale=True),
        "LinearTransformation": lambda: v2.LinearTransformation(
            torch.eye(192, device=where), torch.zeros(192, device=where)
        ),
    }
    table: Table = {
        f"v2.{name}": (lambda m=make: (m(), _image(where)), lambda t, x: t(x)) for name, make in made.items()
    }
    older: dict[str, Callable[[], Any]] = {
        "Normalize": lambda: transforms.Normalize([0.5] * 3, [0.5] * 3),
        "Resize": lambda: transforms.Resize((6, 6)),
        "RandomResizedCrop": lambda: transforms.RandomResizedCrop((6, 6)),
        "ColorJitter": lambda: transforms.ColorJitter(0.1, 0.1, 0.1, 0.1),
        "RandomErasing": lambda: transforms.RandomErasing(p=1.0),
        "GaussianBlur": lambda: transforms.GaussianBlur(3),
        "RandomRotation": lambda: transforms.RandomRotation(30),
        "RandomAffine": lambda: transforms.RandomAffine(30),
    }
    table |= {
        f"transforms.{name}": (lambda m=make: (m(), _image(where)), lambda t, x: t(x)) for name, make in older.items()
    }
    for name in ("RandAugment", "TrivialAugmentWide", "AugMix", "AutoAugment"):
        table[f"v2.{name}"] = (lambda n=name: (getattr(v2, n)(), _bytes(where)), lambda t, x: t(x))
    batch: Callable[[], Any] = lambda: (torch.rand(4, 3, 8, 8, device=where), torch.arange(4, device=where) % 3)  # noqa: E731
    table["v2.MixUp"] = (lambda: (v2.MixUp(num_classes=3), *batch()), lambda t, x, y: t(x, y))
    table["v2.CutMix"] = (lambda: (v2.CutMix(num_classes=3), *batch()), lambda t, x, y: t(x, y))
    return table


def _utilities(where: str) -> Table:
    utils = _load("torchvision.utils")

    batch: Callable[[], torch.Tensor] = lambda: torch.rand(4, 3, 8, 8, device=where)  # noqa: E731
    return {
        "utils.make_grid": (batch, lambda *given: utils.make_grid(*given)),
        "utils.make_grid, normalized": (batch, lambda x: utils.make_grid(x, normalize=True)),
        "utils.make_grid, given range": (batch, lambda x: utils.make_grid(x, normalize=True, value_range=(0, 1))),
        "utils.draw_segmentation_masks": (
            lambda: (_bytes(where), torch.ones(8, 8, dtype=torch.bool, device=where)),
            lambda x, m: utils.draw_segmentation_masks(x, m),
        ),
        "utils.draw_bounding_boxes": (
            lambda: (_bytes(where), torch.tensor([[1.0, 1.0, 5.0, 5.0]], device=where)),
            lambda x, b: utils.draw_bounding_boxes(x, b),
        ),
        "to_pil_image": (lambda: _image(where), lambda x: _pil(x)),
    }


def _pil(x: torch.Tensor) -> Any:
    return _load("torchvision.transforms.functional").to_pil_image(x)


def _models(device: str) -> Table:
    models = _load("torchvision.models")

    def detector(name: str, training: bool, where: str = device) -> Callable[[], Any]:
        def make() -> Any:
            model = getattr(models.detection, name)(weights=None, weights_backbone=None, num_classes=3).to(where)
            images = [torch.rand(3, 64, 64, device=where)]
            box = torch.tensor([[4.0, 4.0, 40.0, 40.0]], device=where)
            targets = [{"boxes": box, "labels": torch.ones(1, dtype=torch.long, device=where)}]
            return model.train(training), images, targets

        return make

    image: Callable[[], torch.Tensor] = lambda: torch.rand(2, 3, 64, 64, device=device)  # noqa: E731
    table: Table = {
        "resnet18": (lambda: (models.resnet18().to(device), image()), lambda m, x: m(x)),
        "mobilenet_v3_small": (lambda: (models.mobilenet_v3_small().to(device), image()), lambda m, x: m(x)),
        "vit of 32 pixels": (
            lambda: (models.VisionTransformer(64, 32, 1, 2, 16, 16).to(device), image()),
            lambda m, x: m(x),
        ),
        "swin_t": (lambda: (models.swin_t().to(device), image()), lambda m, x: m(x)),
        "convnext_tiny": (lambda: (models.convnext_tiny().to(device), image()), lambda m, x: m(x)),
        "efficientnet_b0": (lambda: (models.efficientnet_b0().to(device), image()), lambda m, x: m(x)),
        "lraspp": (
            lambda: (
                models.segmentation.lraspp_mobilenet_v3_large(weights=None, weights_backbone=None).to(device),
                image(),
            ),
            lambda m, x: m(x),
        ),
    }
    for name in ("fasterrcnn_mobilenet_v3_large_320_fpn", "ssdlite320_mobilenet_v3_large", "fcos_resnet50_fpn"):
        table[f"{name} train"] = (detector(name, True), lambda m, x, y: m(x, y))
        table[f"{name} eval"] = (detector(name, False), lambda m, x, y: m(x))
    table["fasterrcnn eval host"] = (
        detector("fasterrcnn_mobilenet_v3_large_320_fpn", False, "cpu"),
        lambda m, x, y: m(x),
    )
    return table

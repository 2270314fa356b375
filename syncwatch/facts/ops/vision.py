"""torchvision's operations, transforms and detection models, and torchaudio's transforms."""

from __future__ import annotations

from syncwatch.facts.conditions import Condition, absent, filled, flag, on_cuda
from syncwatch.facts.table import Case, copies_out, fact, reads, sizes_by_data, uploads
from syncwatch.model import Kind

_OPS = "torchvision.ops."
_NEWER = "torchvision.transforms.v2."
_OLDER = "torchvision.transforms."
ON_DEVICE = "write it with tensors that are on the device: (x - mean) / std"

_SILENT_OPS = """
box_area box_convert box_iou generalized_box_iou complete_box_iou distance_box_iou clip_boxes_to_image masks_to_boxes
roi_align roi_pool ps_roi_pool deform_conv2d sigmoid_focal_loss stochastic_depth drop_block2d drop_block3d
RoIAlign.forward RoIPool.forward PSRoIPool.forward DeformConv2d.forward FeaturePyramidNetwork.forward
StochasticDepth.forward DropBlock2d.forward FrozenBatchNorm2d.forward SqueezeExcitation.forward Permute.forward
"""
_SILENT_OLDER = """
functional.resize functional.crop functional.center_crop functional.five_crop functional.hflip functional.vflip
functional.pad functional.gaussian_blur functional.adjust_brightness functional.adjust_contrast
functional.adjust_saturation functional.adjust_hue functional.adjust_gamma functional.autocontrast functional.invert
functional.solarize functional.rgb_to_grayscale functional.resized_crop functional.convert_image_dtype
functional.posterize functional.erase Resize.forward RandomResizedCrop.forward ColorJitter.forward
GaussianBlur.forward
"""
_SILENT_NEWER = """
functional.resize functional.crop functional.center_crop functional.five_crop functional.horizontal_flip
functional.vertical_flip functional.pad functional.gaussian_blur functional.gaussian_noise functional.adjust_brightness
functional.adjust_contrast functional.adjust_saturation functional.adjust_hue functional.adjust_gamma
functional.autocontrast functional.invert functional.solarize functional.rgb_to_grayscale functional.resized_crop
functional.to_dtype functional.equalize functional.posterize functional.erase functional.elastic Resize.forward
RandomResizedCrop.forward
RandomCrop.forward RandomHorizontalFlip.forward ColorJitter.forward GaussianBlur.forward RandomGrayscale.forward
ToDtype.forward LinearTransformation.forward MixUp.forward CutMix.forward
"""
_SILENT_AUDIO = """
transforms.Spectrogram.forward transforms.MelSpectrogram.forward transforms.MFCC.forward transforms.Resample.forward
transforms.Vol.forward transforms.Fade.forward transforms.MuLawEncoding.forward transforms.AmplitudeToDB.forward
transforms.FrequencyMasking.forward transforms.TimeMasking.forward transforms.MelScale.forward
transforms.ComputeDeltas.forward transforms.SlidingWindowCmn.forward functional.lfilter functional.gain
functional.convolve functional.fftconvolve functional.add_noise
"""


def _prefixed(prefix: str, names: str) -> tuple[str, ...]:
    return tuple(prefix + name for name in names.split())


def _there(name: str, words: str) -> Condition:
    return on_cuda(name).described(words, "it is in host memory")


_applied = "they are uploaded, and some are read, where the transform is applied"

FACTS = (
    fact(
        (f"{_OPS}nms", f"{_OPS}boxes.nms"),
        "boxes scores iou_threshold",
        sizes_by_data(
            (on_cuda("boxes") & filled("boxes")).described(
                "which boxes are kept is decided on the host, from the overlaps",
                "the boxes are in host memory, or none",
            ),
            reported=False,
        ),
        instead="do it once for the whole batch (batched_nms), after the loop over levels or images",
    ),
    fact(
        (f"{_OPS}batched_nms", f"{_OPS}boxes.batched_nms"),
        "boxes scores idxs iou_threshold",
        sizes_by_data(
            (on_cuda("boxes") & filled("boxes")).described(
                "which boxes are kept is decided on the host, from the overlaps",
                "the boxes are in host memory, or none",
            ),
            waits=None,
        ),
        instead="one nms over all classes, with boxes moved apart by class",
        note="Above some thousand boxes it works class by class, and waits for each.",
    ),
    fact(
        (f"{_OPS}remove_small_boxes", f"{_OPS}boxes.remove_small_boxes"),
        "boxes min_size",
        sizes_by_data(_there("boxes", "how many boxes are kept is known only on the device")),
        instead="set the scores of small boxes to zero",
    ),
    fact(
        (f"{_OPS}ps_roi_align",),
        "input boxes output_size",
        Case(Kind.DEVICE_WAIT, _there("input", "its kernel ends with a wait for the device"), reported=False),
        instead="roi_align",
    ),
    fact(
        (f"{_OPS}PSRoIAlign.forward",),
        "module input rois",
        Case(Kind.DEVICE_WAIT, _there("input", "its kernel ends with a wait for the device"), reported=False),
        instead="RoIAlign",
    ),
    fact(
        (f"{_OPS}MultiScaleRoIAlign.forward",),
        "module x boxes image_shapes",
        sizes_by_data(_there("x", "the boxes of each level are looked up"), waits=None),
        instead="align every box on every level, and pick by torch.where",
    ),
    fact(
        tuple(
            f"{_OPS}{name}" for name in ("generalized_box_iou_loss", "complete_box_iou_loss", "distance_box_iou_loss")
        ),
        "boxes1 boxes2",
        sizes_by_data(_there("boxes1", "the overlapping pairs are picked by a mask"), waits=5),
        instead="1 - torch.diagonal(generalized_box_iou(a, b)) for few boxes; or the formula with clamp(min=0)",
    ),
    fact(
        (f"{_OLDER}functional.normalize",),
        "tensor mean std",
        uploads(_there("tensor", "mean and deviation are uploaded, and the deviation is checked"), waits=3),
        instead=ON_DEVICE,
    ),
    fact(
        (f"{_OLDER}Normalize.forward",),
        "module tensor",
        uploads(_there("tensor", "mean and deviation are uploaded, and the deviation is checked"), waits=3),
        instead=ON_DEVICE,
    ),
    fact(
        (f"{_NEWER}functional.normalize",),
        "inpt mean std",
        uploads(_there("inpt", "mean and deviation are uploaded"), waits=2),
        instead=ON_DEVICE,
    ),
    fact(
        (f"{_NEWER}Normalize.forward",),
        "module inpt",
        uploads(_there("inpt", "mean and deviation are uploaded"), waits=2),
        instead=ON_DEVICE,
    ),
    fact(
        tuple(f"{space}functional.{name}" for space in (_OLDER, _NEWER) for name in ("rotate", "affine")),
        "inpt angle",
        uploads(_there("inpt", "the matrix of the transform is uploaded"), waits=2),
        instead="torch.nn.functional.affine_grid and grid_sample with a matrix on the device",
    ),
    fact(
        tuple(f"{space}functional.perspective" for space in (_OLDER, _NEWER)),
        "inpt startpoints endpoints",
        uploads(_there("inpt", "the coefficients of the transform are uploaded"), waits=3),
        instead="torch.nn.functional.grid_sample with a grid on the device",
    ),
    fact(
        tuple(f"{space}functional.adjust_sharpness" for space in (_OLDER, _NEWER)),
        "inpt sharpness_factor",
        uploads(_there("inpt", "the centre of the kernel is written with a number of the host")),
        instead="torch.nn.functional.conv2d with a kernel on the device",
    ),
    fact(
        (f"{_OLDER}functional.equalize",),
        "img",
        sizes_by_data(_there("img", "each channel's histogram is counted, and its steps picked by a mask"), waits=None),
        instead="torchvision.transforms.v2.functional.equalize",
    ),
    fact(
        (f"{_OLDER}functional.elastic_transform",),
        "img displacement",
        uploads(_there("img", "the grid of places is uploaded")),
        instead="torchvision.transforms.v2.functional.elastic",
    ),
    fact(
        (f"{_OLDER}functional.to_pil_image",),
        "pic mode",
        copies_out(_there("pic", "the image is copied to the host"), explicit=True),
        instead="convert images every N steps",
    ),
    fact(
        (
            f"{_OLDER}RandomErasing.forward",
            f"{_NEWER}RandomErasing.forward",
        ),
        "module inpt",
        uploads(_there("inpt", "the value to erase with is uploaded")),
        instead="fill the region: x[..., i:i + h, j:j + w] = number",
    ),
    fact(
        (
            *_prefixed(_OLDER, "RandomRotation.forward RandomAffine.forward"),
            *_prefixed(_NEWER, "RandomRotation.forward RandomAffine.forward RandomPerspective.forward AugMix.forward"),
        ),
        "module inpt",
        uploads(_there("inpt", f"its numbers are drawn on the host: {_applied}"), waits=None),
        instead="augment in the workers of the DataLoader, or draw a matrix for the whole batch on the device",
    ),
    fact(
        ("torchvision.utils.make_grid",),
        "tensor nrow padding normalize value_range",
        reads(
            (on_cuda("tensor") & flag("normalize") & absent("value_range")).described(
                "normalize=True without value_range reads the smallest and the largest value",
                "the range is given, or nothing is normalized",
            ),
            waits=2,
        ),
        instead="pass value_range=",
    ),
    fact(
        ("torchvision.utils.draw_segmentation_masks",),
        "image masks",
        uploads(_there("image", "colours are uploaded and written through masks"), waits=None),
        instead="draw every N steps",
    ),
    fact(
        ("torchvision.utils.draw_bounding_boxes",),
        "image boxes",
        copies_out(
            on_cuda("image", "boxes").described("image and boxes go to the host", "both are in host memory"), waits=None
        ),
        instead="draw every N steps",
    ),
    fact(
        tuple(f"torchvision.models.detection.{name}.forward" for name in ("FasterRCNN", "FCOS")),
        "module images targets",
        sizes_by_data(_there("images", "proposals are picked, suppressed and counted on the host"), waits=None),
        instead="a detector without non-maximum suppression in its training step",
    ),
    fact(
        ("torchaudio.transforms.Vad.forward",),
        "module waveform",
        reads(_there("waveform", "every window is measured on the host"), waits=None),
        instead="trim on the host, in the workers of the DataLoader",
    ),
    fact(
        ("torchaudio.transforms.GriffinLim.forward",),
        "module specgram",
        reads(_there("specgram", "every iteration's istft checks its windows on the host"), waits=None),
        instead="a neural vocoder; or run it rarely",
    ),
    fact(
        ("torchaudio.functional.resample",),
        "waveform orig_freq new_freq",
        uploads(_there("waveform", "the filter is made on the host and uploaded")),
        instead="torchaudio.transforms.Resample keeps the filter on the device",
    ),
    fact(
        ("torchaudio.functional.lowpass_biquad",),
        "waveform sample_rate cutoff_freq",
        uploads(_there("waveform", "the coefficients of the filter are uploaded"), waits=2),
        instead="torchaudio.functional.lfilter with coefficients on the device",
    ),
    fact(
        ("torchaudio.functional.edit_distance",),
        "seq1 seq2",
        reads(
            on_cuda("seq1", "seq2").described("every element is compared on the host", "both are in host memory"),
            waits=None,
        ),
        instead="pass lists",
    ),
    fact(
        (
            *_prefixed(_OPS, _SILENT_OPS),
            *_prefixed(_OLDER, _SILENT_OLDER),
            *_prefixed(_NEWER, _SILENT_NEWER),
            *_prefixed("torchaudio.", _SILENT_AUDIO),
        ),
        "input",
    ),
)

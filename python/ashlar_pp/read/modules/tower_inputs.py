"""Example inputs of what makes tokens of an image or of sound in transformers: one
image, or one recording."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterator
from typing import Any

import torch
from torch import nn

from .inputs import BINS, MOST_FRAMES, question, signal_of, sizes_in
from .walked import Unreadable

SIDE = 448  # pixels of an image where a configuration names no size
MOST_SIDE = 896  # where images may be of any size: masks of all pairs are computed
_MASKS = ("feature_attention_mask", "input_features_mask", "attention_mask")


def inputs_for(model: nn.Module, method: Any) -> Iterator[dict[str, Any]]:
    """What the method may be called with; the first that it takes is right. Sizes and
    masks have values, and so has what a mask chooses from. Raises `Unreadable`."""
    taken = inspect.signature(method).parameters
    if "image_grid_thw" in taken:
        yield from _patches_in_rows(model)
    elif "spatial_shapes" in taken:
        yield _patches_and_shapes(model)
    elif "aspect_ratio_ids" in taken:
        yield _tiles_of_ratio(model)
    elif "pixel_values" in taken:
        yield from _images(model, taken)
    elif "input_features" in taken:
        yield from _recordings(model, taken)


def _images(model: nn.Module, taken: Any) -> Iterator[dict[str, Any]]:
    image = signal_of(model, "pixel_values")
    if known := getattr(model.config, "projector_patch_to_query_dict", None):
        side = round(min(known) ** 0.5) * (sizes_in(model, "patch_size") or 14)
        image = image.new_empty((*image.shape[:2], side, side))
    places = getattr(model.config, "image_grid_pinpoints", None)
    if "image_sizes" in taken and not places:  # of any size
        image = image[..., :MOST_SIDE, :MOST_SIDE]
    made: dict[str, Any] = {"pixel_values": image}
    if "qformer_input_ids" in taken:
        made["qformer_input_ids"] = question()
    if "image_sizes" in taken:
        height, width = image.shape[-2:]
        made["image_sizes"] = torch.tensor([[height, width]])
        if places:
            count = _tiles(model, (height, width), places)
            made["pixel_values"] = image.unsqueeze(1).expand(1, count, *image.shape[1:])
    yield made
    # Several images of a sequence, of which those that are all zeros are left out.
    ones = torch.ones((1, 1, *image.shape[1:]), dtype=image.dtype)
    yield {**made, "pixel_values": ones}


def _tiles(model: nn.Module, size: tuple[int, int], places: Any) -> int:
    """Parts that an image is cut into, by the model's own code, with the whole."""
    own = sys.modules[type(model).__module__]
    count = getattr(own, "image_size_to_num_patches", None)
    if count is None:
        raise Unreadable("its code does not say how many parts an image has")
    config: Any = model.config
    return int(count(size, places, config.vision_config.image_size))


def _patches_in_rows(model: nn.Module) -> Iterator[dict[str, Any]]:
    """An image as patches in rows, as Qwen2-VL takes it, or as small images, as Kimi
    K2.5 does."""
    config: Any = model.config
    one = config.vision_config
    merged = getattr(one, "spatial_merge_size", None)
    merged = merged or (getattr(one, "merge_kernel_size", None) or [None])[0]
    for name, size in (("patch_size", one.patch_size), ("spatial_merge_size", merged)):
        if not isinstance(size, int):
            raise Unreadable(f"its vision_config has no {name}, as Qwen2-VL's has")
    side = sizes_in(model, "image_size") or SIDE
    # Whole windows of attention, or whole groups of patches that are merged.
    step = max(one.patch_size * merged, getattr(one, "window_size", 0))
    places = max(step, side // step * step) // one.patch_size
    named = ("in_channels", "in_chans", "num_channels")
    channels = next((getattr(one, n) for n in named if getattr(one, n, None)), 3)
    width = channels * getattr(one, "temporal_patch_size", 1) * one.patch_size**2
    kind = next(model.parameters()).dtype
    small = (channels, one.patch_size, one.patch_size)
    for shape in ((width,), small):
        yield {
            "pixel_values": torch.empty(places**2, *shape, dtype=kind, device="meta"),
            "image_grid_thw": torch.tensor([[1, places, places]]),
        }


def _tiles_of_ratio(model: nn.Module) -> dict[str, Any]:
    """An image of as many tiles as there may be, as Llama 3.2 takes it."""
    eye: Any = model.config.vision_config  # type: ignore[union-attr]
    count = eye.max_num_tiles
    ratios = [high * wide for high, wide in eye.supported_aspect_ratios]
    kind = next(model.parameters()).dtype
    shape = (1, 1, count, eye.num_channels, eye.image_size, eye.image_size)
    return {
        "pixel_values": torch.empty(shape, dtype=kind, device="meta"),
        "aspect_ratio_ids": torch.tensor([[ratios.index(count) + 1]]),
        "aspect_ratio_mask": torch.ones(1, 1, count, dtype=torch.long),
    }


def _patches_and_shapes(model: nn.Module) -> dict[str, Any]:
    """An image as patches in rows of a batch, as SigLIP 2 takes it."""
    patch = sizes_in(model, "patch_size", "encoder_patch_size")
    most = sizes_in(model, "num_patches") or (SIDE // patch) ** 2
    places = int(most**0.5)
    width = (sizes_in(model, "num_channels") or 3) * patch**2
    kind = next(model.parameters()).dtype
    return {
        "pixel_values": torch.ones(1, places * places, width, dtype=kind),
        "spatial_shapes": torch.tensor([[places, places]]),
        "pixel_attention_mask": torch.ones(1, places * places, dtype=torch.long),
    }


def _recordings(model: nn.Module, taken: Any) -> Iterator[dict[str, Any]]:
    """Bins of frequencies first, as Whisper has them, or frames first."""
    bins = sizes_in(model, *BINS) or 80
    frames = min(2 * (sizes_in(model, "max_source_positions") or 500), MOST_FRAMES)
    kind = next(model.parameters()).dtype
    mask = torch.ones(1, frames, dtype=torch.long)
    made: dict[str, Any] = {name: mask for name in _MASKS if name in taken}
    for masks in (made, {}) if made else (made,):
        for shape in ((1, bins, frames), (1, frames, bins)):
            yield {**masks, "input_features": torch.ones(shape, dtype=kind)}

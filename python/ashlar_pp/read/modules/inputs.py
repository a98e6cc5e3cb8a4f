"""Example inputs of models of transformers."""

from __future__ import annotations

import inspect
from types import SimpleNamespace
from typing import Any

import torch
from torch import nn

# Longest example text that is made for the sake of a window.
MOST_SEEN = 1100
# Frames of an example recording: distances between all of them are computed.
MOST_FRAMES = 3000
BINS = ("num_mel_bins", "feature_size", "input_dim", "feature_projection_input_dim")
# Tokens by which the text of a decoder is shorter than its encoder's.
DIFFERENCE = 16
QUESTION = 16


def example_inputs(model: nn.Module, tokens: int) -> dict[str, Any]:
    """Inputs for one forward: text of this many tokens, one image, or one recording.

    Token ids have values, because masks and positions follow from them. Images and
    recordings have none.
    """
    config: Any = model.config
    made: dict[str, Any] = {}
    main = str(getattr(model, "main_input_name", "input_ids"))
    taken = inspect.signature(model.forward).parameters
    if main in ("pixel_values", "input_features", "input_values") and main in taken:
        made[main] = signal_of(model, main)
    elif "input_ids" in taken:
        made["input_ids"] = _text(model, tokens)
        tokens = made["input_ids"].shape[1]
    if "cross_attention_states" in taken and hasattr(config, "vision_config"):
        made["cross_attention_states"] = _tiles_of(model)
        shape = (1, tokens, 1, config.vision_config.max_num_tiles)
        made["cross_attention_mask"] = torch.ones(shape, dtype=torch.long)
    if main == "pixel_values" and "mm_encoder_outputs" in taken:
        made = {"input_ids": _text(model, tokens), "pixel_values": None}
        made["mm_encoder_outputs"] = {"image": _no_tokens(model)}
        if "qformer_input_ids" in taken:
            made["qformer_input_ids"] = question()
        if getattr(config, "image_token_id", None) is None:
            config.image_token_id = -1  # no word
    if getattr(config, "is_encoder_decoder", False):
        # Another length tells the decoder's tokens from the encoder's.
        made["decoder_input_ids"] = _text(model, max(1, tokens - DIFFERENCE))
    for one in (config, config.get_text_config()):
        if hasattr(one, "use_cache"):
            one.use_cache = False  # training has none
    return {name: value for name, value in made.items() if name in taken}


def run_all_layers(model: nn.Module) -> list[str]:
    """Lets no layer be skipped at random. Returns a sentence, where any was."""
    config: Any = getattr(model, "config", None)
    inner = [getattr(config, name, None) for name in getattr(config, "sub_configs", {})]
    found = []
    for one in (config, *inner, *model.modules()):
        for name, value in list(vars(one).items()) if one is not None else ():
            if name.endswith("layerdrop") and value:
                setattr(one, name, 0.0)
                found.append(float(value))
    if not found:
        return []
    return [f"all layers run, and training skips up to {max(found):.0%} at random"]


def sizes_in(model: nn.Module, *names: str) -> Any:
    """The first of these values in the model's configuration, or in one inside it."""
    config: Any = model.config
    inner = [getattr(config, name, None) for name in getattr(config, "sub_configs", {})]
    for one in (config, *inner):
        for name in names:
            if getattr(one, name, None):
                return getattr(one, name)
    return None


def _tiles_of(model: nn.Module) -> torch.Tensor:
    """All tiles of an image, as the decoder's layers of Llama 3.2 attend to them."""
    config: Any = model.config
    eye = config.vision_config
    patches = (eye.image_size // eye.patch_size) ** 2 + 1
    width = config.get_text_config().hidden_size
    kind = next(model.parameters()).dtype
    return torch.empty(1, eye.max_num_tiles * patches, width, dtype=kind, device="meta")


def question() -> torch.Tensor:
    """Ids of a text that InstructBLIP's queries read."""
    return torch.ones(1, QUESTION, dtype=torch.long)


def _no_tokens(model: nn.Module) -> Any:
    """What BLIP-2 made of an image that no word of the text stands for."""
    config: Any = model.config
    width = config.get_text_config().hidden_size
    kind = next(model.parameters()).dtype
    made = torch.empty(1, config.num_query_tokens, width, dtype=kind, device="meta")
    return SimpleNamespace(
        pooler_output=made, qformer_outputs=None, vision_outputs=None
    )


def _text(model: nn.Module, tokens: int) -> torch.Tensor:
    """Ids of so many tokens that masks show windows, where these are short."""
    config: Any = model.config
    for name, value in vars(config.get_text_config()).items():
        is_window = "window" in name or "chunk" in name or "local" in name
        if is_window and type(value) is int and tokens < value + 16 <= MOST_SEEN:
            tokens = value + 16
    most = sizes_in(model, "max_target_positions", "max_position_embeddings")
    is_limited = isinstance(most, int) and most > 0
    length = min(tokens, most) if is_limited else tokens
    return torch.ones(1, length, dtype=torch.long)


def signal_of(model: nn.Module, main: str) -> torch.Tensor:
    """One image or one recording, without values."""
    if main == "pixel_values":
        side = sizes_in(model, "image_size", "input_size") or 224
        height, width = side if isinstance(side, list | tuple) else (side, side)
        shape: tuple[int, ...] = (
            1,
            sizes_in(model, "num_channels") or 3,
            height,
            width,
        )
    elif main == "input_values":
        bins = sizes_in(model, "num_mel_bins")
        most = sizes_in(model, "max_length") or 1024
        has_frames = bins and sizes_in(model, "patch_size")
        shape = (1, most, bins) if has_frames else (1, 16_000)
    else:
        bins = sizes_in(model, *BINS) or 80
        frames = min(2 * (sizes_in(model, "max_source_positions") or 500), MOST_FRAMES)
        first = _frames_first(model)
        shape = (1, frames, bins) if first else (1, bins, frames)
    return torch.empty(shape, dtype=next(model.parameters()).dtype, device="meta")


def _frames_first(model: nn.Module) -> bool:
    """Whisper has bins first; others have frames first."""
    return "whisper" not in type(model).__module__

"""Towers of images by their sizes: layers with a norm ahead of attention and of two
matrices, behind one product of patches."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Images:
    """A vision transformer. `tokens` stand before those of patches, such as a class;
    `norms` are beside the layers; `has_patch_bias`, of the product of patches."""

    layers: int
    hidden: int
    heads: int
    width: int
    side: int = 0
    patch: int = 14
    tokens: int = 1
    norms: int = 2
    has_patch_bias: bool = False


# By the config.json of each on the hub; a norm before the layers, and one behind.
CLIP = {
    "openai/clip-vit-base-patch32": Images(12, 768, 12, 3072, side=224, patch=32),
    "openai/clip-vit-base-patch16": Images(12, 768, 12, 3072, side=224, patch=16),
    "openai/clip-vit-large-patch14": Images(24, 1024, 16, 4096, side=224),
    "openai/clip-vit-large-patch14-336": Images(24, 1024, 16, 4096, side=336),
}


def tower_of_images(kind: Images, name: str) -> dict[str, Any]:
    """The keys of a tower that reads one square image."""
    patches = (kind.side // kind.patch) ** 2
    tokens = patches + kind.tokens
    product = {
        "rows": patches,
        "inner": 3 * kind.patch**2,
        "columns": kind.hidden,
        "is_ahead": True,
    }
    if kind.has_patch_bias:
        product["has_bias"] = True
    return {
        "name": name,
        "hidden": kind.hidden,
        "tokens": tokens,
        "beside": (tokens + kind.tokens + 2 * kind.norms) * kind.hidden,
        "kinds": [layer_of_images(kind.hidden, kind.heads, kind.width)],
        "layers": [0] * kind.layers,
        "products": [product],
    }


def layer_of_images(hidden: int, heads: int, width: int) -> dict[str, Any]:
    """With biases, and a norm of weights and biases before each part."""
    attention = {"heads": heads, "groups": heads, "head": hidden // heads}
    return {
        "mix": {
            "kind": "attention",
            "sees_all": True,
            "beside": 2 * hidden + 4 * hidden,
            **attention,
        },
        "feed": {"kind": "dense", "width": width, "beside": 3 * hidden + width},
    }

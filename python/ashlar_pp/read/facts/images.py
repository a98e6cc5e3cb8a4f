"""Towers of images by their sizes: layers with a norm ahead of attention and of the
matrices behind it, after one product of patches."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Images:
    """A vision transformer of an image of `height` and `breadth` pixels.

    `tokens` stand before those of patches, such as a class; `rows` are parameters
    beside the layers, in rows of its width: of tokens, norms and positions, unless
    there is one `position` for each token. `head` is hidden / heads unless it is given.
    """

    layers: int
    hidden: int
    heads: int
    width: int
    height: int = 0
    breadth: int = 0
    patch: int = 14
    tokens: int = 1
    rows: int = 0
    has_positions: bool = True
    has_patch_bias: bool = False
    head: int = 0
    norm: int = 2  # rows of one: weights and biases, or weights alone
    is_gated: bool = False
    has_qkv_bias: bool = True
    has_qk_norm: bool = False  # over all heads
    has_scales: bool = False  # of what each part adds

    @property
    def patches(self) -> int:
        """Tokens of an image."""
        return (self.height // self.patch) * (self.breadth // self.patch)


def clip(layers: int, hidden: int, heads: int, side: int, patch: int = 14) -> Images:
    """CLIP's tower in transformers: a class, and a norm before and after the layers."""
    return Images(layers, hidden, heads, 4 * hidden, side, side, patch, rows=1 + 4)


# By the config.json of each on the hub.
CLIP = {
    "openai/clip-vit-base-patch32": clip(12, 768, 12, 224, patch=32),
    "openai/clip-vit-base-patch16": clip(12, 768, 12, 224, patch=16),
    "openai/clip-vit-large-patch14": clip(24, 1024, 16, 224),
    "openai/clip-vit-large-patch14-336": clip(24, 1024, 16, 336),
}


# Towers of LLaVA and of programs made from it, by the ends of their names. SigLIP runs
# without its last layer and its head (siglip_encoder.py of LLaVA-NeXT and of Bunny).
KNOWN = {name.rpartition("/")[2]: kind for name, kind in CLIP.items()}
KNOWN["siglip-so400m-patch14-384"] = Images(
    26, 1152, 16, 4304, 384, 384, tokens=0, rows=2, has_patch_bias=True
)


def tower_of_images(kind: Images, name: str) -> dict[str, Any]:
    """The keys of a tower that reads one image."""
    tokens = kind.patches + kind.tokens
    product = {
        "rows": kind.patches,
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
        "beside": (kind.rows + (tokens if kind.has_positions else 0)) * kind.hidden,
        "kinds": [_layer(kind)],
        "layers": [0] * kind.layers,
        "products": [product],
    }


def _layer(kind: Images) -> dict[str, Any]:
    """With biases of all matrices but those of queries, keys and values in some."""
    head = kind.head or kind.hidden // kind.heads
    inside = kind.heads * head
    around = (kind.norm + 1 + kind.has_scales) * kind.hidden
    of_queries = 3 * inside * kind.has_qkv_bias + 2 * inside * kind.has_qk_norm
    feed = {
        "kind": "dense",
        "width": kind.width,
        "beside": around + (2 if kind.is_gated else 1) * kind.width,
    }
    if kind.is_gated:
        feed["is_gated"] = True
    return {
        "mix": {
            "kind": "attention",
            "sees_all": True,
            "heads": kind.heads,
            "groups": kind.heads,
            "head": head,
            "beside": around + of_queries,
        },
        "feed": feed,
    }

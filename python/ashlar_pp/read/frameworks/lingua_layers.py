"""Recurrent layers of Meta's lingua, as their own code sizes them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..values import Values

Layer = dict[str, Any]


def architecture_of(kind: str, words: int, v: Values) -> dict[str, Any]:
    """The decoder of a type of apps/fastRNN, or of apps/mamba.

    Raises Unreadable, where a size is not there.
    """
    hidden = v.number("model.dim")
    layer = LAYERS[kind](hidden, v)
    return {
        "hidden": hidden,
        "vocabulary": words,
        "is_tied": v.flag("model.weight_tying"),
        "beside": hidden,  # the last norm
        "kinds": [layer],
        "layers": [0] * v.number("model.n_layers"),
    }


def width_of(v: Values, hidden: int, factor: str = "ffn_dim_multiplier") -> int:
    """A width that a factor scales, as a multiple of `multiple_of`."""
    if v.get(f"model.{factor}") is not None:
        hidden = int(float(v.word(f"model.{factor}")) * hidden)
    multiple = v.number("model.multiple_of", default=256)
    return -(-hidden // multiple) * multiple


def _gates(gates: int) -> Callable[[int, Values], Layer]:
    """Three matrices or more read the layer's input: of the output's gate, of the
    state, and `gates` that a convolution reads."""

    def made(hidden: int, v: Values) -> Layer:
        inner = width_of(v, 2 * hidden)
        convolved = gates * inner * v.number("model.conv_size", default=0)
        v.get("model.n_heads")  # heads share nothing
        return {
            "mix": {
                "kind": "state_space",
                "inner": inner,
                "steps": gates * inner,
                "beside": hidden + convolved,
            }
        }

    return made


def _hawk(hidden: int, v: Values) -> Layer:
    """Two matrices of all channels make the gates of a linear recurrent unit."""
    inner = width_of(v, int(4 / 3 * hidden), "lru_dim_multiplier")
    decays = inner // v.number("model.n_heads", default=1)
    convolved = inner * v.number("model.conv_size", default=0)
    mix = {
        "kind": "state_space",
        "inner": inner,
        "rank": inner,
        "beside": hidden + decays + convolved,
    }
    width = width_of(v, int(2 * 4 * hidden / 3))
    feed = {"kind": "dense", "is_gated": True, "width": width, "beside": hidden}
    return {"mix": mix, "feed": feed}


def _mamba(hidden: int, v: Values) -> Layer:
    inner, heads = width_of(v, 2 * hidden), v.number("model.n_heads", default=8)
    state = v.number("model.state_dim", default=128)
    keys = v.number("model.n_groups", default=1) * state
    beside = hidden + inner + heads  # norms, and a decay of each head
    beside += (inner + 2 * keys) * v.number("model.conv_size", default=0)
    beside += heads if v.flag("model.dt_bias") else 0
    beside += inner if v.flag("model.D_has_head_dim") else heads
    beside += inner * state if v.flag("model.learnable_init_states") else 0
    return {
        "mix": {
            "kind": "state_space",
            "inner": inner,
            "keys": keys,
            "steps": heads,
            "beside": beside,
        }
    }


LAYERS = {"minGRU": _gates(1), "minLSTM": _gates(2), "hawk": _hawk, "mamba": _mamba}

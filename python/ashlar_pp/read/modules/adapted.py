"""Layers beside which adapters of a model stand, as `ashlar predict --lora` names
them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from ..run_file import Unreadable

_TARGETS = frozenset(
    "q_proj k_proj v_proj o_proj qkv_proj gate_proj up_proj down_proj gate_up_proj "
    "q_a_proj q_b_proj kv_a_proj_with_mqa kv_b_proj lm_head".split()
)
# As other families name them.
_OTHERS = {
    "qkv_proj": re.compile(r"\.(query_key_value|c_attn|W_pack|[Ww]qkv)$"),
    "o_proj": re.compile(r"att\w*\.(dense|c_proj|wo|out_proj)$"),
    "lm_head": re.compile(r"\.(output_layer|embed_out|output)$"),
}
_FEED = re.compile(r"(.*\.(?:mlp|feed_forward|ffn))\.\w+$")
_SIDE = re.compile(r"(.*)\.lora_([AB])\.")


def targets_of(named: Iterable[str], sizes: Mapping[str, int], rank: int) -> list[str]:
    """`named` are the layers that adapters of this rank stand beside as the program
    names them, `sizes` the model's parameters. Raises Unreadable."""
    given = sorted(set(named))
    if _TARGETS.issuperset(given):
        return given
    sides: dict[str, dict[str, int]] = {}
    for name, size in sizes.items():
        if found := _SIDE.match(name):
            sides.setdefault(found[1], {})[found[2]] = size // rank
    # All layers are alike, so one of each place is looked at.
    first = {re.sub(r"\.\d+\.", ".#.", path): path for path in reversed(sides)}
    made: dict[str, None] = {}
    for path in reversed(first.values()):
        made[_target(path, sides[path], sizes)] = None
    return list(made)


def _target(path: str, side: Mapping[str, int], sizes: Mapping[str, int]) -> str:
    last = path.rpartition(".")[2]
    if last in _TARGETS:
        return last
    for target, pattern in _OTHERS.items():
        if pattern.search(path):
            return target
    feed = _FEED.match(path)
    if not feed or side["A"] == side["B"]:
        raise Unreadable(f"adapters beside {path}, which --lora has no name for")
    if side["A"] > side["B"]:
        return "down_proj"
    matrices = {
        name.removeprefix(feed[1] + ".").partition(".")[0]: size
        for name, size in sizes.items()
        if name.startswith(feed[1] + ".")
        and name.endswith(".weight")
        and ".lora_" not in name
    }
    # A gate and what it gates are one matrix, or two of three.
    if matrices[last] == 2 * min(matrices.values()):
        return "gate_up_proj"
    is_gate = len(matrices) > 2 and last == next(iter(matrices))
    return "gate_proj" if is_gate else "up_proj"

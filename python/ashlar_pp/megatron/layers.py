"""Checks that the chunks of all ranks are together the model of the configuration, each
layer once and in order.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch.distributed as dist
from megatron.core.transformer.enums import LayerType
from torch import nn

from .._core import Program
from ..torch.layout import Parameters, fault_in, parameters_of
from .embeddings import mtp_stage
from .supported import unwrapped


@dataclass
class Held:
    """The layers and parameters of a stage."""

    blocks: dict[str, tuple[list[int], int]] = field(default_factory=dict)
    """By name of the block: numbers of its layers here, from 1 on, and their count in
    the whole model.
    """
    parameters: Parameters = field(default_factory=dict)
    """Parameters by name, with the layer's number in the whole model."""
    ends: dict[str, bool] = field(default_factory=dict)
    """Whether it has the embedding, the output layer, and MTP; empty for models of
    other kinds.
    """


def held_by(chunk: Any) -> Held:
    model = unwrapped(chunk)
    found = Held()
    numbers: dict[str, int] = {}
    for name, block in model.named_modules():
        layers: Any = getattr(block, "layers", None)
        config: Any = getattr(block, "config", None)
        if (
            name.split(".")[-1] == "mtp"
            or config is None
            or not isinstance(layers, nn.ModuleList)
        ):
            continue
        if all(hasattr(layer, "layer_number") for layer in layers):
            of_block: list[Any] = [layer.layer_number for layer in layers]
            found.blocks[name] = of_block, config.num_layers
            numbers |= {
                f"{name}.layers.{i}.": number for i, number in enumerate(of_block)
            }
    everywhere = {
        name
        for name, p in model.named_parameters()
        if getattr(p, "pipeline_parallel", False)
    }  # Megatron sums them
    for name, one in parameters_of(model).items():
        if name in everywhere:
            continue
        local = next((start for start in numbers if name.startswith(start)), None)
        if local is not None:
            block = local.rsplit(".", 2)[0]
            name = f"{block}.{numbers[local]}.{name.removeprefix(local)}"
        found.parameters[name] = one
    if hasattr(model, "pre_process") and hasattr(model, "post_process"):
        found.ends = {
            "the embedding": bool(model.pre_process),
            "the output layer": bool(model.post_process),
            "MTP": bool(getattr(model, "mtp_process", False)),
        }
    return found


def must_be_the_model(
    program: Program, chunks: Mapping[int, Any], config: Any, group: dist.ProcessGroup
) -> None:
    """Raises ValueError on every rank of the pipeline if the chunks are not the model.
    Every rank has to call this.
    """
    everyone: list[Any] = [None] * group.size()
    dist.all_gather_object(
        everyone,
        {stage: held_by(chunk) for stage, chunk in chunks.items()},
        group=group,
    )
    stages = [
        next(held[stage] for held in everyone if stage in held)
        for stage in range(program.stages)
    ]
    if fault := fault_of(stages, config):
        raise ValueError(
            f"the chunks of the model are not those of the schedule's stages: {fault}. "
            "Build them with "
            "ashlar_pp.megatron.chunks_of, and their specs in the function that it "
            "calls"
        )


def fault_of(stages: Sequence[Held], config: Any) -> str:
    if not any(held.blocks for held in stages):  # not a model of Megatron's
        return ""
    return (
        _fault_of_numbers(stages)
        or _fault_of_layout(stages, config)
        or _fault_of_ends(stages, config)
        or _fault_of_names(stages)
        or _fault_of_kinds(stages, config)
    )


def _fault_of_numbers(stages: Sequence[Held]) -> str:
    for block in dict.fromkeys(name for held in stages for name in held.blocks):
        expected = 1
        for stage, held in enumerate(stages):
            numbers, total = held.blocks.get(block, ([], 0))
            for number in numbers:
                if number != expected:
                    return (
                        f"{block} of stage {stage} has layers {_listed(numbers)}, and "
                        f"layer {expected} comes next"
                    )
                expected += 1
            if total and expected > total + 1:
                return (
                    f"{block} of stage {stage} has layers {_listed(numbers)}, and the "
                    f"model has {total}"
                )
        total = max(held.blocks[block][1] for held in stages if block in held.blocks)
        if expected <= total:
            return (
                f"{block} has layers 1 to {expected - 1} in all stages, and the model "
                f"has {total}"
            )
    return ""


def _fault_of_layout(stages: Sequence[Held], config: Any) -> str:
    layout = getattr(config, "pipeline_model_parallel_layout", None)
    if layout is None:
        return ""
    ranks = layout.pipeline_model_parallel_size
    if ranks * layout.virtual_pipeline_model_parallel_size != len(stages):
        return (
            f"the layout {layout} has "
            f"{ranks * layout.virtual_pipeline_model_parallel_size} stages, and the "
            f"schedule {len(stages)}"
        )
    for stage, held in enumerate(stages):
        wanted = layout.layout[stage % ranks][stage // ranks].count(LayerType.decoder)
        given = len(held.blocks["decoder"][0]) if "decoder" in held.blocks else wanted
        if given != wanted:
            return (
                f"stage {stage} has {given} layers, and the layout {layout} gives it "
                f"{wanted}"
            )
    return ""


def _fault_of_ends(stages: Sequence[Held], config: Any) -> str:
    wanted = {
        "the embedding": 0,
        "the output layer": len(stages) - 1,
        "MTP": mtp_stage(config, len(stages)),
    }
    for what, where in wanted.items():
        have = [stage for stage, held in enumerate(stages) if held.ends.get(what)]
        known = all(held.ends for held in stages)
        if known and have != ([] if where is None else [where]):
            return (
                f"{what} is in stages {have}, and belongs "
                f"{'in none' if where is None else f'in stage {where}'}"
            )
    return ""


def _fault_of_names(stages: Sequence[Held]) -> str:
    """Finds a parameter that is not in one stage alone. Copies of the word embedding
    are allowed: they are summed.
    """
    layout: dict[str, tuple[tuple[int, ...], list[int]]] = {}
    for stage, held in enumerate(stages):
        for name, (shape, _) in held.parameters.items():
            layout.setdefault(name, (shape, [stage]))
            if "embedding" in name and stage not in layout[name][1]:
                layout[name][1].append(stage)
    return fault_in([held.parameters for held in stages], layout).replace(
        " rank", " stage"
    )


def _fault_of_kinds(stages: Sequence[Held], config: Any) -> str:
    """Finds a layer whose parts (experts, linear attention, attention, MLP) are not
    those of the configuration.
    """
    names: dict[int, list[str]] = {}
    for held in stages:
        for name in held.parameters:
            if name.startswith("decoder.layers."):
                number_of, inner = name.removeprefix("decoder.layers.").split(".", 1)
                names.setdefault(int(number_of), []).append(inner)
    for number, kinds in sorted(_kinds(config).items()):
        for what, (start, is_wanted) in kinds.items():
            if (
                number in names
                and any(name.startswith(start) for name in names[number]) != is_wanted
            ):
                return (
                    f"layer {number} {'lacks' if is_wanted else 'has'} {what}, against "
                    f"{_source(what)}"
                )
    return ""


def _kinds(config: Any) -> dict[int, dict[str, tuple[str, bool]]]:
    """By layer and part: how names of the part's parameters begin, and whether the
    configuration gives it to the layer.
    """
    found: dict[int, dict[str, tuple[str, bool]]] = {
        number: {} for number in range(1, config.num_layers + 1)
    }
    if getattr(config, "is_hybrid_model", False):  # such a model has its own pattern
        return {}
    experts, linear = (
        getattr(config, "moe_layer_freq", 1),
        getattr(config, "linear_attention_freq", None),
    )
    for number, kinds in found.items():
        if getattr(config, "num_moe_experts", None):
            is_moe = (
                (number - 1) % experts == 0
                if isinstance(experts, int)
                else bool(experts[number - 1])
            )
            kinds["experts"] = ("mlp.router.", is_moe)
        if linear is not None:
            is_linear = (
                number % linear != 0
                if isinstance(linear, int)
                else bool(linear[number - 1])
            )
            kinds["linear attention"] = ("self_attention.A_log", is_linear)
        if getattr(config, "heterogeneous_block_specs", False):
            block = config.per_block_parameters[number - 1]
            kinds["attention"] = (
                "self_attention.linear_qkv.",
                _is_whole(block.attention),
            )
            kinds["an MLP"] = ("mlp.linear_fc1.", _is_whole(block.mlp))
    return found


def must_end_with_experts(config: Any) -> None:
    """Raises ValueError for a last layer behind which Megatron's plan of a chunk leaves
    out the final layernorm. A stage without layers has it.
    """
    last = _kinds(config).get(config.num_layers, {})
    layout = config.pipeline_model_parallel_layout
    alone = layout is not None and LayerType.decoder not in layout.layout[-1][-1]
    if not last.get("experts", ("", False))[1] and not alone:
        raise ValueError(
            "overlap_moe_expert_parallel_comm is not supported for a last layer "
            f"without experts, as layer {config.num_layers}: Megatron's plan leaves "
            "out the final layernorm behind it"
        )


def _is_whole(part: Any) -> bool:
    return not part.no_op and not part.replace_with_linear


def _source(what: str) -> str:
    return {
        "experts": "moe_layer_freq",
        "linear attention": "linear_attention_freq",
    }.get(what, "heterogeneous_block_specs")


def _listed(numbers: Sequence[int]) -> str:
    return ", ".join(map(str, numbers))

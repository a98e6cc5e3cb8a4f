"""Takes stages out of DistributedDataParallel, whose hooks see neither the last weight
pass nor the passes of several micro-batches. Gradients are averaged over its ranks at
the end of a step instead.
"""

from __future__ import annotations

from collections.abc import Mapping

import torch.distributed as dist
from torch import nn
from torch.distributed._composable.replicate import DDP as Replicated
from torch.distributed.fsdp import FullyShardedDataParallel
from torch.nn.parallel import DataParallel, DistributedDataParallel


def out_of_ddp(
    modules: Mapping[int, nn.Module], data_group: dist.ProcessGroup | None
) -> tuple[dict[int, nn.Module], dist.ProcessGroup | None]:
    """Returns modules by stage without their wrapper, and the group over which
    gradients are averaged. Raises ValueError for wrappers that average in another way,
    or of some stages alone.
    """
    wrapped = {
        stage: m
        for stage, m in modules.items()
        if isinstance(m, DistributedDataParallel)
    }
    plain = {
        stage: m.module if isinstance(m, DistributedDataParallel) else m
        for stage, m in modules.items()
    }
    for stage, module in plain.items():
        _must_not_average(f"stage {stage}", module)
    for stage, module in wrapped.items():
        if data_group is not None:
            raise ValueError(
                f"stage {stage} is in DistributedDataParallel, which averages already: "
                "leave out data_group"
            )
        if asked := _asked_besides(module):
            raise ValueError(
                f"stage {stage} is in DistributedDataParallel with {asked}, which a "
                "pipeline does not keep: leave it out, or "
                "average gradients yourself, after step()"
            )
    if not wrapped:
        return plain, data_group
    first = next(iter(wrapped))
    group = wrapped[first].process_group
    for stage, module in plain.items():
        averages = stage in wrapped
        if not averages and any(p.requires_grad for p in module.parameters()):
            raise ValueError(
                f"stage {first} is in DistributedDataParallel, and stage {stage} is "
                "not: its gradients would be those of this "
                "rank's data alone. Wrap both, or none and give data_group"
            )
        if averages and _ranks(wrapped[stage].process_group) != _ranks(group):
            raise ValueError(
                f"DistributedDataParallel averages stage {first} over ranks "
                f"{_ranks(group)}, and stage {stage} over ranks "
                f"{_ranks(wrapped[stage].process_group)}: stages of a rank have one "
                "group"
            )
    return plain, group


def _ranks(group: dist.ProcessGroup) -> list[int]:
    return dist.get_process_group_ranks(group)


def _asked_besides(module: DistributedDataParallel) -> str:
    """Names the option by which a wrapper does other than average all gradients; empty
    if there is none.
    """
    if hook := module._get_ddp_logging_data().get("comm_hook"):
        return f"the communication hook {hook}"
    if module.mixed_precision is not None:
        return "mixed_precision"
    if left_out := sorted(
        {*module.parameters_to_ignore}
        & {name for name, _ in module.module.named_parameters()}
    ):
        return f"parameters to ignore ({left_out[0]})"
    return ""


def _must_not_average(where: str, module: nn.Module) -> None:
    for name, one in module.named_modules():
        what = f"'{name}' of {where}" if name else where
        if isinstance(one, (DistributedDataParallel, DataParallel)):
            raise ValueError(
                f"{what} is in {type(one).__name__}, which would average the gradients "
                "of each backward, and not at all those "
                "of a weight pass: wrap the stage's whole module, or give data_group"
            )
        if isinstance(one, Replicated):
            raise ValueError(
                f"{what} is in torch.distributed._composable.replicate, whose hooks "
                "see no weight pass: give data_group instead"
            )
        if isinstance(one, FullyShardedDataParallel):
            raise ValueError(
                f"{what} is in FullyShardedDataParallel, whose hooks see no weight "
                "pass: use fully_shard"
            )
        if any(
            getattr(p, "_in_backward_optimizers", None)
            for p in one.parameters(recurse=False)
        ):
            raise ValueError(
                f"{what} has an optimizer in its backward, which would step after each "
                "micro-batch: call it after step()"
            )

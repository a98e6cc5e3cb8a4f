"""Refuses models that cannot be made a pipeline, by name."""

from __future__ import annotations

from torch import nn
from torch.distributed.fsdp import FSDPModule, FullyShardedDataParallel
from torch.nn.parallel import DataParallel, DistributedDataParallel


def check_model(model: nn.Module) -> None:
    """Raises ValueError for wrappers that would not see the pipeline's passes, a model
    compiled as a whole, or parameters on the meta device. It says what to do instead.
    """
    for name, module in model.named_modules():
        where = f"'{name}'" if name else "the model"
        if isinstance(module, (DistributedDataParallel, DataParallel)):
            kind = type(module).__name__
            raise ValueError(
                f"{where} is in {kind}, which waits for gradients of all layers: give "
                "data_group instead"
            )
        if isinstance(module, FullyShardedDataParallel):
            raise ValueError(
                f"{where} is in FullyShardedDataParallel: use fully_shard, in `wrap`"
            )
        if isinstance(module, FSDPModule):
            raise ValueError(
                f"{where} is in fully_shard before it is cut: give wrap=, which is "
                "called with the module of each stage"
            )
    if hasattr(model, "_orig_mod") or model._compiled_call_impl is not None:
        raise ValueError(
            "the model is compiled as a whole: compile its layers, with layer.compile()"
        )
    if any(p.is_meta for p in model.parameters()):
        raise ValueError(
            "parameters are on the meta device: layers are measured, so give them "
            "numbers first"
        )

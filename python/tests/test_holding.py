"""Ranks agree before the first step which of them has which parameters, and which
average their gradients.
"""

import pytest
import torch
import torch.distributed as dist
from alone import BOTH, SPLIT, linear, mse, one_rank  # noqa: F401
from torch import nn
from torch.distributed._composable.replicate import replicate
from torch.distributed.algorithms.ddp_comm_hooks.default_hooks import fp16_compress_hook
from torch.distributed.fsdp import FullyShardedDataParallel
from torch.distributed.pipelining import PipelineStage
from torch.nn.parallel import DistributedDataParallel

import ashlar_pp
import ashlar_pp.torch
from ashlar_pp.torch.layout import (
    fault_in,
    fault_in_stages,
    must_be_laid_out,
    plain_name,
)


def test_a_parameter_elsewhere_is_named():
    both, one = ((4, 4), True), ((4,), True)
    layout = {"a": ((4, 4), [0, 1]), "b": ((4,), [1])}
    assert fault_in([{"a": both}, {"a": both, "b": one}], layout) == ""
    assert (
        fault_in([{"a": both, "b": one}, {"a": both}], layout)
        == "b is on rank 0, and belongs on rank 1"
    )
    assert (
        fault_in([{"a": both}, {"a": both}], layout)
        == "b is on no rank, and belongs on rank 1"
    )
    assert (
        fault_in([{"a": both}, {"b": one}], layout)
        == "a is on rank 0, and belongs on ranks 0, 1"
    )
    assert (
        fault_in([{"a": both}, {"a": both, "b": ((5,), True)}], layout)
        == "b has shape (5,) on rank 1, and should have (4,)"
    )
    frozen = {"a": ((4, 4), False)}
    assert (
        fault_in([frozen, {"a": both, "b": one}], layout)
        == "a is trained on rank 1 alone, and belongs on ranks 0, 1"
    )
    assert (
        fault_in([{"a": both, "c": one}, {"a": both, "b": one}], layout)
        == "c is on rank 0, and the layout has no such parameter"
    )
    assert plain_name("layers.0._checkpoint_wrapped_module._orig_mod.w") == "layers.0.w"
    must_be_laid_out({"b": one}, {"b": ((4,), [0])}, None)
    with pytest.raises(
        ValueError, match="the model is not where its layout says: b is on no rank"
    ):
        must_be_laid_out({}, {"b": ((4,), [0])}, None)


def test_stages_are_the_whole_model():
    def parts(*names):
        whole = nn.ModuleDict({name: linear(i) for i, name in enumerate("abc")})
        return {
            s: Chain({name: whole[name] for name in one}) for s, one in enumerate(names)
        }, whole

    def words(*names):
        modules, whole = parts(*names)
        with pytest.raises(ValueError) as error:
            ashlar_pp.torch.pipeline(modules, SPLIT, mse, whole=whole.to("meta"))
        return str(error.value)

    modules, whole = parts("ab", "c")
    ashlar_pp.torch.pipeline(modules, SPLIT, mse, whole=whole)
    assert "c.weight is in no stage, and belongs in one" in words("a", "b")
    assert "b.weight is in stages [0, 1], and belongs in one" in words("ab", "bc")
    one = {"b": ((2,), True)}
    assert (
        fault_in_stages([one, {"d": ((2,), True)}], one)
        == "d of stage 1 is no parameter of the model"
    )
    assert (
        fault_in_stages([{"b": ((3,), True)}], one)
        == "b has shape (3,) in stage 0, and (2,) in the model"
    )


class Chain(nn.ModuleDict):
    def forward(self, x):
        for layer in self.values():
            x = layer(x)
        return x


def words_of(make, runtime, data_group=None):
    modules = {0: make(linear(1)), 1: make(linear(2))}
    with pytest.raises(ValueError) as error:
        ashlar_pp.torch.pipeline(
            modules, SPLIT, mse, runtime=runtime, data_group=data_group
        )
    return str(error.value)


def hooked(module):
    made = DistributedDataParallel(module)
    made.register_comm_hook(None, fp16_compress_hook)
    return made


def ignoring(module):
    DistributedDataParallel._set_params_and_buffers_to_ignore_for_model(
        module, ["bias"]
    )
    return DistributedDataParallel(module)


@BOTH
def test_what_averages_gradients_in_another_way_is_refused(runtime):
    assert "averages already: leave out data_group" in words_of(
        DistributedDataParallel, runtime, dist.group.WORLD
    )
    assert "the communication hook fp16_compress_hook" in words_of(hooked, runtime)
    assert "parameters to ignore (bias)" in words_of(ignoring, runtime)
    assert "wrap the stage's whole module" in words_of(
        lambda m: nn.Sequential(DistributedDataParallel(m)), runtime
    )
    assert "whose hooks see no weight pass: give data_group" in words_of(
        replicate, runtime
    )
    modules = {0: DistributedDataParallel(linear(1)), 1: linear(2)}
    with pytest.raises(
        ValueError, match="stage 0 is in DistributedDataParallel, and stage 1 is not"
    ):
        ashlar_pp.torch.pipeline(modules, SPLIT, mse, runtime=runtime)


def test_stages_are_taken_out_of_ddp():
    made = {s: linear(s) for s in (0, 1)}
    stages = [
        PipelineStage(DistributedDataParallel(m), s, 2, torch.device("cpu"))
        for s, m in made.items()
    ]
    pipe = ashlar_pp.torch.pipeline(stages, SPLIT, mse)
    assert [stage.submod for stage in stages] == list(made.values())
    pipe.step(torch.ones(8, 4).double(), target=torch.ones(8, 4).double())
    assert all(p.grad is not None for m in made.values() for p in m.parameters())
    wrapped = ashlar_pp.torch.Pipeline(
        Chain({"a": linear(1), "b": linear(2)}),
        torch.ones(2, 4).double(),
        target=torch.ones(2, 4).double(),
        loss_fn=mse,
        wrap=DistributedDataParallel,
    )
    wrapped.step(torch.ones(4, 4).double(), target=torch.ones(4, 4).double())
    assert not any(
        isinstance(module, DistributedDataParallel)
        for module in wrapped._runtime.modules.values()
    )


def test_fully_sharded_data_parallel_and_optimizers_in_a_backward_are_refused():
    from torch.distributed.optim import _apply_optimizer_in_backward

    def stepping(module):
        _apply_optimizer_in_backward(torch.optim.SGD, module.parameters(), {"lr": 0.1})
        return module

    assert "has an optimizer in its backward" in words_of(stepping, "auto")
    sharded = object.__new__(FullyShardedDataParallel)
    nn.Module.__init__(sharded)
    with pytest.raises(
        ValueError, match="is in FullyShardedDataParallel, .*: use fully_shard"
    ):
        ashlar_pp.torch.pipeline({0: nn.Sequential(sharded), 1: linear(2)}, SPLIT, mse)

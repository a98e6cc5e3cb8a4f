"""A group of one rank in the process of the tests, for tests that need no other
rank.
"""

import tempfile

import pytest
import torch
import torch.distributed as dist
from devices import join
from torch import nn

import ashlar_pp
import ashlar_pp.torch

EARLIER = tuple(int(one) for one in torch.__version__.split(".")[:2]) < (2, 15)
"""docs/pytorch.md says what earlier versions of torch do not support."""
BOTH = pytest.mark.parametrize("runtime", ["pytorch", "ashlar"])
FUSED = ashlar_pp.catalog.one_f_one_b(1, 4)
SPLIT = ashlar_pp.catalog.v_zb(1, 4)
# two stages, fused where that takes no longer
V = ashlar_pp.catalog.v_half(1, 4) | ashlar_pp.fuse_where_free()


@pytest.fixture(scope="module", autouse=True)
def one_rank():
    with tempfile.TemporaryDirectory() as folder:
        join(f"file://{folder}/meeting", 0, 1)
        yield
        dist.destroy_process_group()


def linear(seed=0, width=4):
    torch.manual_seed(seed)
    return nn.Linear(width, width).double()


def batch(rows=8, width=4):
    torch.manual_seed(7)
    return torch.randn(rows, width).double(), torch.randn(rows, width).double()


def mse(output, target):
    return nn.functional.mse_loss(output, target)


def whole(modules, inputs, targets, loss_fn=mse, micro_batches=4):
    """Gradients, by module, of the mean over micro-batches, without a pipeline."""
    for module in modules:
        module.zero_grad()
    for x, y in zip(inputs.chunk(micro_batches), targets.chunk(micro_batches)):
        for module in modules:
            x = module(x)
        loss_fn(x, y).backward()
    return [
        [
            None if p.grad is None else p.grad / micro_batches
            for p in module.parameters()
        ]
        for module in modules
    ]


def same(modules, expected):
    for module, gradients in zip(modules, expected):
        for p, g in zip(module.parameters(), gradients):
            assert (p.grad is None) == (g is None)
            assert g is None or torch.allclose(p.grad, g, rtol=1e-12, atol=1e-14)

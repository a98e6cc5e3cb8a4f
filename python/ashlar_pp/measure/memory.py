"""Kernels that move bytes and do little else, as a plain program runs them.

The reads and writes of an element are those that `work.cpp` counts, so `memory` is the
share of the bandwidth that makes the formula right for PyTorch's own kernels.
"""

from collections.abc import Callable, Iterator

import torch
from torch.nn import functional

from .samples import Sample, Sizes
from .team import Team

OPTIMIZER_BYTES = 30  # of a parameter, as in `once_a_step.cpp`


def both_ways(
    name: str,
    call: Callable[[], torch.Tensor],
    inputs: tuple[torch.Tensor, ...],
    elements: float,
    moves: tuple[float, float],
    kind: str = "memory",
) -> Iterator[Sample]:
    """The forward and the backward of a kernel: `moves` of each element's value."""
    out = call()
    slope = torch.randn_like(out)
    size = out.element_size()

    def backward() -> object:
        return torch.autograd.grad(out, inputs, slope, retain_graph=True)

    yield Sample(kind, f"{name}, forward", {"bytes": size * elements * moves[0]}, call)
    yield Sample(
        kind, f"{name}, backward", {"bytes": size * elements * moves[1]}, backward
    )


def turned(x: torch.Tensor, angles: tuple[torch.Tensor, torch.Tensor]) -> torch.Tensor:
    half = x.shape[-1] // 2
    other = torch.cat((-x[..., half:], x[..., :half]), dim=-1)
    return x * angles[0] + other * angles[1]


def memory_samples(team: Team, s: Sizes, dtype: torch.dtype) -> Iterator[Sample]:
    def values(*shape: int) -> torch.Tensor:
        made = torch.randn(shape, device=team.device, dtype=dtype)
        return made.requires_grad_()

    x, y, weight = values(s.rows, s.hidden), values(s.rows, s.hidden), values(s.hidden)

    def residual() -> torch.Tensor:
        return functional.rms_norm(x + y, (s.hidden,), weight)

    yield from both_ways(
        "sum and norm", residual, (x, y, weight), s.rows * s.hidden, (5, 6)
    )
    gate, up = values(s.rows, s.width), values(s.rows, s.width)
    yield from both_ways(
        "SiLU and product",
        lambda: functional.silu(gate) * up,
        (gate, up),
        s.rows * s.width,
        (5, 12),
    )
    heads = values(s.heads, s.rows, 64)
    angle = torch.randn(s.rows, 64, device=team.device, dtype=dtype)
    angles = (angle.cos(), angle.sin())
    yield from both_ways(
        "rotation", lambda: turned(heads, angles), (heads,), heads.numel(), (12, 12)
    )
    yield optimizer_sample(team, s)


def optimizer_sample(team: Team, s: Sizes) -> Sample:
    part = torch.nn.Parameter(torch.randn(s.width, s.hidden, device=team.device))
    part.grad = torch.randn_like(part)
    optimizer = torch.optim.AdamW([part], fused=True)
    terms = {"bytes": float(OPTIMIZER_BYTES * part.numel())}
    return Sample("memory", "AdamW", terms, optimizer.step)


def copy_samples(team: Team, s: Sizes, dtype: torch.dtype) -> Iterator[Sample]:
    """A copy, and casts: for the bandwidth of the description, and to be shown."""
    a = torch.randn(s.rows, s.width, device=team.device, dtype=dtype)
    b = torch.empty_like(a)
    terms = {"bytes": 2.0 * a.numel() * a.element_size()}
    yield Sample("copies", "copy", terms, lambda: b.copy_(a))
    other = torch.bfloat16 if dtype == torch.float32 else torch.float32
    low = a.to(other)
    size = a.element_size() + low.element_size()
    terms = {"bytes": float(a.numel() * size)}
    yield Sample("copies", "cast", terms, lambda: low.copy_(a))


def loss_sample(team: Team, s: Sizes, dtype: torch.dtype) -> Sample:
    """Logits to their loss and back: `loss_bytes` for each."""
    shape = (s.tokens // 2, s.vocabulary)
    logits = torch.randn(shape, device=team.device, dtype=dtype, requires_grad=True)
    wanted = torch.randint(s.vocabulary, shape[:1], device=team.device)

    def call() -> object:
        loss = functional.cross_entropy(logits.float(), wanted)
        return torch.autograd.grad(loss, logits)

    return Sample("loss", f"{shape[0]} x {shape[1]}", {"logits": logits.numel()}, call)

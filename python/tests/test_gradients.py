"""No gradient is silently wrong: it is right, or refused with the reason."""

import functools

import pytest
import torch
import torch.distributed as dist
from alone import (
    BOTH,
    EARLIER,
    FUSED,
    SPLIT,
    batch,
    linear,
    mse,
    one_rank,  # noqa: F401
    same,
    whole,
)
from torch import nn
from trainers import Recurrent

import ashlar_pp
import ashlar_pp.torch
from ashlar_pp.torch.split import input_gradients
from ashlar_pp.torch.unseen import Between


def frozen(module):
    return module.requires_grad_(False)


@BOTH
@pytest.mark.parametrize("split", [False, True], ids=["fused", "split"])
@pytest.mark.parametrize("which", [{0}, {1}, {2}, {0, 1}, {0, 2}])
def test_what_is_not_frozen_is_trained(runtime, split, which):
    """Freezes stages before or after the pipeline is made."""
    x, y = batch()
    for before in (True, False):
        modules = {s: linear(s) for s in range(3)}
        alone = [linear(s) for s in range(3)]
        for s in which:
            frozen(alone[s])
            if before:
                frozen(modules[s])
        pipe = ashlar_pp.torch.pipeline(
            modules, three_stages(split), mse, runtime=runtime
        )
        for s in which:
            frozen(modules[s])
        pipe.step(x, target=y)
        same(modules.values(), whole(alone, x, y))


@BOTH
def test_what_is_frozen_at_first_is_trained_later_or_refused(runtime):
    x, y = batch()
    modules = {s: linear(s) for s in range(3)}
    frozen(modules[0])
    pipe = ashlar_pp.torch.pipeline(modules, three_stages(True), mse, runtime=runtime)
    for later in (False, True):
        modules[1].bias.requires_grad_(later)
        pipe.step(x, target=y)
    modules[0].requires_grad_(True)
    for module in modules.values():
        module.zero_grad()
    if runtime == "pytorch":
        with pytest.raises(
            ValueError,
            match="stage 0 had nothing to train in the first step, and has now",
        ):
            pipe.step(x, target=y)
        return
    pipe.step(x, target=y)
    same(modules.values(), whole([linear(s) for s in range(3)], x, y))


def three_stages(split):
    def passes(k):
        down = [
            f"{s}{letter}{k}" for letter in ("IW" if split else "B") for s in (2, 1, 0)
        ]
        return [f"{s}F{k}" for s in (0, 1, 2)] + down

    return ashlar_pp.schedule(
        ashlar_pp.looped(1, 3), [[one for k in range(4) for one in passes(k)]]
    )


class Tied(nn.Module):
    def __init__(self, weight):
        super().__init__()
        self.weight = weight

    def forward(self, x):
        return x @ self.weight.T


@BOTH
def test_a_weight_of_two_stages_is_divided_once(runtime):
    x, y = batch()

    def pair():
        shared = nn.Parameter(torch.eye(4).double())
        return [Tied(shared), Tied(shared)]

    modules = pair()
    ashlar_pp.torch.pipeline(
        dict(enumerate(modules)), SPLIT, mse, runtime=runtime
    ).step(x, target=y)
    same(modules[:1], whole(pair(), x, y)[:1])


@BOTH
@pytest.mark.parametrize("clear", ["none", "zero"])
def test_gradients_of_several_steps_add_up(runtime, clear):
    x, y = batch()
    module = linear()
    pipe = ashlar_pp.torch.pipeline({0: module}, FUSED, mse, runtime=runtime)
    if clear == "zero":
        for p in module.parameters():
            p.grad = torch.zeros_like(p)
    for _ in range(3):
        pipe.step(x, target=y)
    same([module], [[3 * g for g in whole([linear()], x, y)[0]]])


@BOTH
def test_gradients_are_as_before_if_a_step_fails(runtime):
    x, y = batch()
    module = linear()
    calls = []

    def loss_of(output, target):
        calls.append(output)
        if fails and len(calls) > 2:
            raise ArithmeticError("too large")
        return mse(output, target)

    fails = False
    pipe = ashlar_pp.torch.pipeline({0: module}, FUSED, loss_of, runtime=runtime)
    pipe.step(x, target=y)
    before = [p.grad.clone() for p in module.parameters()]
    fails = True
    calls.clear()
    with pytest.raises((ArithmeticError, RuntimeError)):
        pipe.step(x, target=y)
    same([module], [before])
    if runtime == "ashlar":  # nothing of the failed step is left
        fails = False
        module.zero_grad()
        pipe.step(x, target=y)
        same([module], whole([linear()], x, y))


class Scored(nn.Module):
    """A loss with trained parameters."""

    def __init__(self):
        super().__init__()
        self.head = linear(9)

    def forward(self, output, target):
        return mse(self.head(output), target)


def closure_over(module):
    return lambda output, target: module(output, target)


class Holder:
    def __init__(self, module):
        self.inside = {"loss": [module]}

    def __call__(self, output, target):
        return self.inside["loss"][0](output, target)

    def method(self, output, target):
        return self(output, target)


@BOTH
@pytest.mark.parametrize(
    "wrap",
    [
        lambda m: m,
        closure_over,
        lambda m: functools.partial(lambda o, t, with_: with_(o, t), with_=m),
        Holder,
        lambda m: Holder(m).method,
        lambda m: functools.wraps(mse)(closure_over(m)),
    ],
    ids=["module", "closure", "partial", "object", "method", "wrapped"],
)
def test_a_loss_with_parameters_is_refused_however_it_is_wrapped(runtime, wrap):
    with pytest.raises(ValueError, match="loss_fn has a parameter of its own"):
        ashlar_pp.torch.pipeline({0: linear()}, FUSED, wrap(Scored()), runtime=runtime)


@functools.cache
def hidden():
    return nn.Parameter(torch.ones(4).double())


@BOTH
def test_a_parameter_that_is_found_nowhere_is_refused_when_it_is_used(runtime):
    x, y = batch()
    pipe = ashlar_pp.torch.pipeline(
        {0: linear()}, FUSED, lambda o, t: mse(o * hidden(), t), runtime=runtime
    )
    with pytest.raises((ValueError, RuntimeError), match="no parameter of the stage"):
        pipe.step(x, target=y)


@pytest.mark.skipif(EARLIER, reason="this torch has no edges at compiled modules")
@BOTH
def test_compiled_stages_with_split_backwards(runtime):
    x, y = batch()

    def stage(seed):
        return nn.Sequential(
            linear(seed), nn.LayerNorm(4).double(), nn.GELU(), linear(seed + 1)
        )

    modules = {s: torch.compile(stage(s), backend="aot_eager") for s in (0, 1)}
    ashlar_pp.torch.pipeline(modules, SPLIT, mse, runtime=runtime).step(x, target=y)
    same(modules.values(), whole([stage(0), stage(1)], x, y))
    assert torch._functorch.config.donated_buffer  # the setting is that of other models


class TwoUses(nn.Module):
    """Uses one weight in two places, one on the other's path to the input."""

    def __init__(self, seed):
        super().__init__()
        self.inner, self.outer = linear(seed), linear(seed + 10)

    def forward(self, x):
        return self.inner(torch.tanh(self.outer(torch.tanh(self.inner(x)))))


class Apart(nn.Module):
    """Has a weight that meets the input only in the loss, and one that is not used."""

    def __init__(self, seed):
        super().__init__()
        self.inner, self.unused = linear(seed), linear(seed + 1)
        self.alone = nn.Parameter(torch.full((4,), 0.5).double())

    def forward(self, x, beside=None):
        return torch.tanh(self.inner(x)), self.alone.exp() * torch.ones_like(x)


class Both(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = linear(3)

    def forward(self, x, beside):
        return self.inner(x) * beside


@BOTH
def test_split_backwards_of_a_weight_with_several_uses(runtime):
    x, y = batch()
    modules = {s: TwoUses(s) for s in (0, 1)}
    ashlar_pp.torch.pipeline(modules, SPLIT, mse, runtime=runtime).step(x, target=y)
    same(modules.values(), whole([TwoUses(0), TwoUses(1)], x, y))


@BOTH
def test_split_backwards_of_a_weight_apart_from_the_inputs(runtime):
    x, y = batch()
    modules = {0: linear(1), 1: Apart(2), 2: Both()}
    with pytest.warns(
        UserWarning,
        match=(
            r"unused.weight of stage 1, unused.bias of stage 1 got no gradient in the "
            r"first step"
        ),
    ):
        ashlar_pp.torch.pipeline(
            modules, three_stages(True), mse, runtime=runtime
        ).step(x, target=y)
    alone = [linear(1), Apart(2), Both()]
    for a, b in zip(x.chunk(4), y.chunk(4)):
        (mse(alone[2](*alone[1](alone[0](a))), b) / 4).backward()
    same(modules.values(), [[p.grad for p in one.parameters()] for one in alone])


@BOTH
def test_what_no_copy_uses_has_no_gradient(runtime):
    """With zero gradients an optimizer would shrink the weights."""
    x, y = batch()
    modules = {0: linear(1), 1: Apart(2), 2: Both()}
    pipe = ashlar_pp.torch.pipeline(
        modules, three_stages(True), mse, runtime=runtime, data_group=dist.group.WORLD
    )
    with pytest.warns(UserWarning, match="unused.weight of stage 1"):
        pipe.step(x, target=y)
    for _ in range(2):
        assert [p.grad is None for p in modules[1].unused.parameters()] == [True, True]
        assert all(
            p.grad is not None
            for m in (modules[0], modules[1].inner, modules[2])
            for p in m.parameters()
        )
        pipe.step(x, target=y)


class Keeps(torch.autograd.Function):
    """Returns no gradient for its weight."""

    @staticmethod
    def forward(ctx, x, weight):
        ctx.save_for_backward(weight)
        return x * weight

    @staticmethod
    def backward(ctx, gradient):
        return gradient * ctx.saved_tensors[0], None


class Loses(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner, self.scale = linear(5), nn.Parameter(torch.ones(4).double())

    def forward(self, x):
        return Keeps.apply(self.inner(x), self.scale)


@BOTH
@pytest.mark.parametrize("split", [False, True], ids=["fused", "split"])
@pytest.mark.parametrize("which", [1, 2])
def test_a_gradient_that_is_lost_is_named_after_the_first_step(runtime, split, which):
    x, y = batch()
    modules = {s: Loses() if s == which else linear(s) for s in range(3)}
    pipe = ashlar_pp.torch.pipeline(modules, three_stages(split), mse, runtime=runtime)
    with pytest.raises(
        RuntimeError,
        match=f"scale of stage {which} on rank 0 got no gradient in the first step",
    ):
        pipe.step(x, target=y)
    assert all(
        p.grad is None for module in modules.values() for p in module.parameters()
    )
    modules[which].scale.requires_grad_(False)
    pipe = ashlar_pp.torch.pipeline(modules, three_stages(split), mse, runtime=runtime)
    pipe.step(x, target=y)
    alone = [Loses() if s == which else linear(s) for s in range(3)]
    same(modules.values(), whole(alone, x, y))


def test_chunks_of_sequences_with_split_backwards_from_the_first_stage_on():
    found = ashlar_pp.search_layouts(
        1, 4, ashlar_pp.Costs(20, 26, 14), sequence_chunks=2, causal=(30, 46), budget=20
    )
    schedule = next(one.schedule for one in found if one.schedule.sequence_chunks > 1)
    assert any(one.kind == "backward_weight" for line in schedule.order for one in line)

    def stages():
        torch.manual_seed(0)
        return [Recurrent().double() for _ in range(schedule.stages)]

    torch.manual_seed(3)
    x = torch.randn(8, 4, 6).double()
    modules = stages()
    ashlar_pp.torch.pipeline(
        dict(enumerate(modules)),
        schedule,
        lambda o, t: ((o - t) ** 2).sum(),
        scale_grads=False,
    ).step(x, target=x)
    alone = stages()
    for a in x.chunk(4):
        out = a
        for one in alone:
            out = one(out, None)[0]
        ((out - a) ** 2).sum().backward()
    for one, other in zip(modules, alone):
        for p, q in zip(one.parameters(), other.parameters()):
            assert torch.allclose(p.grad, q.grad, rtol=1e-10, atol=1e-12)


def test_gradients_of_weight_passes_have_the_strides_of_their_weights():
    """Ranks that share a weight add memory to memory."""
    torch.manual_seed(0)
    x, w = torch.randn(3, 4, requires_grad=True), torch.nn.Parameter(torch.randn(5, 4))
    output = x @ torch.cat([w.t(), torch.zeros(4, 2)], dim=1)
    given = torch.randn_like(output)
    (expected,) = torch.autograd.grad(output, w, given, retain_graph=True)
    _, weight_pass = input_gradients([output], [given], [x], [w])
    weight_pass()
    assert not expected.is_contiguous() and w.grad.stride() == w.stride()
    assert torch.equal(w.grad, expected)


def test_numbers_between_layers_are_compared_without_their_order():
    """A set of words has another order in each process, as Llama 4's masks have."""

    def seen(*operations):
        with Between() as between:
            for operation, number in operations:
                operation(torch.ones(2), number)
        return between.numbers

    once = seen((torch.mul, 3), (torch.add, 2.5))
    assert once == seen((torch.add, 2.5), (torch.mul, 3))
    assert once != seen((torch.mul, 4), (torch.add, 2.5))
    assert once != seen((torch.mul, 2.5), (torch.add, 3))
    assert once != seen((torch.mul, 3), (torch.mul, 3), (torch.add, 2.5))
    assert seen((torch.mul, float("nan"))) == seen((torch.mul, float("nan")))

"""`step` and `eval` take the arguments that PyTorch's do."""

import collections
import contextlib

import pytest
import torch
from alone import BOTH, EARLIER, FUSED, V, batch, linear, mse, one_rank, same, whole  # noqa: F401
from torch import nn

import ashlar_pp
import ashlar_pp.torch
from ashlar_pp.torch.messages import key_of
from ashlar_pp.torch.stream import action_of, with_early_receives


class Scaled(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = linear()

    def forward(self, x, scale=None):
        return self.inner(x) * (1 if scale is None else scale)


class Two(nn.Module):
    """Returns two tensors and a whole-number one, which the next stage takes."""

    def __init__(self, seed):
        super().__init__()
        self.inner = linear(seed)

    def forward(self, x, beside=None, chosen=None):
        y = self.inner(x if chosen is None else x + chosen.double())
        return y, y.sin() if beside is None else beside * 2, torch.full((len(x), 1), 3)


class Last(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = linear(5)

    def forward(self, x, beside, chosen):
        return {"a": self.inner(x) * chosen, "b": beside.cos()}


def losses_of(pipe, *args, **kwargs):
    losses = []
    pipe.step(*args, losses=losses, **kwargs)
    return [float(x) for x in losses]


def plain(runtime="ashlar", module=None, schedule=FUSED, **kwargs):
    return ashlar_pp.torch.pipeline(
        {0: module or linear()}, schedule, mse, runtime=runtime, **kwargs
    )


def taken_by(runtime, name):
    """Expects arguments that earlier versions of PyTorch's runtime do not take to be
    refused by name.
    """
    if EARLIER and runtime == "pytorch":
        return pytest.raises(ValueError, match=f"takes no {name}")
    return contextlib.nullcontext()


def test_keyword_inputs_are_split_and_given():
    x, y = batch()
    scale = torch.arange(1.0, 9).double().reshape(8, 1)
    found = [
        losses_of(plain(r, Scaled()), x, target=y, scale=scale)
        for r in ("ashlar", "pytorch")
    ]
    assert found[0] == found[1] != losses_of(plain("ashlar", Scaled()), x, target=y)


@BOTH
def test_loss_kwargs_reach_the_loss(runtime):
    x, y = batch()
    module = linear()
    pipe = ashlar_pp.torch.pipeline(
        {0: module}, FUSED, lambda o, t, w=1: w * mse(o, t), runtime=runtime
    )
    with taken_by(runtime, "loss_kwargs"):
        pipe.step(x, target=y, loss_kwargs={"w": 100})
        same([module], [[100 * g for g in whole([linear()], x, y)[0]]])


@BOTH
def test_micro_batches_are_taken_as_they_are(runtime):
    x, y = batch()
    module = linear()
    with taken_by(runtime, "arg_mbs"):
        plain(runtime, module).step(
            arg_mbs=[(one,) for one in x.chunk(4)], target_mbs=list(y.chunk(4))
        )
        same([module], whole([linear()], x, y))


def test_several_tensors_go_from_stage_to_stage():
    x, y = batch()

    def loss_of(output, target):
        return mse(output["a"], target[0]) + mse(output["b"], target[1])

    modules = {0: Two(1), 1: Last()}
    pipe = ashlar_pp.torch.pipeline(modules, V, loss_of, runtime="ashlar")
    output = pipe.step(x, target=(y, x))
    assert output["a"].shape == output["b"].shape == x.shape

    alone = [Two(1), Last()]
    for a, b in zip(x.chunk(4), y.chunk(4)):
        (loss_of(alone[1](*alone[0](a)), (b, a)) / 4).backward()
    same(modules.values(), [[p.grad for p in one.parameters()] for one in alone])


@BOTH
def test_eval_runs_forwards_alone(runtime):
    x, y = batch()
    module = linear()
    pipe = plain(runtime, module)
    losses = []
    output = pipe.eval(x, target=y, losses=losses)
    assert torch.equal(output, torch.cat([linear()(a) for a in x.chunk(4)]))
    assert [float(v) for v in losses] == [
        float(mse(linear()(a), b)) for a, b in zip(x.chunk(4), y.chunk(4))
    ]
    assert module.weight.grad is None
    pipe.step(x, target=y)  # as before
    same([module], whole([linear()], x, y))


def test_without_outputs_none_are_kept():
    x, y = batch()
    assert plain().step(x, target=y, return_outputs=False) is None


def test_shapes_may_differ_where_that_is_said():
    x, y = batch(10)
    sizes = [1, 4, 2, 3]
    inputs, targets = x.split(sizes), y.split(sizes)
    modules = {0: linear(1), 1: linear(2)}
    pipe = ashlar_pp.torch.pipeline(modules, V, mse, dynamic_shapes=True)
    for _ in range(2):
        for module in modules.values():
            module.zero_grad()
        pipe.step(arg_mbs=[(one,) for one in inputs], target_mbs=list(targets))
    alone = [linear(1), linear(2)]
    for a, b in zip(inputs, targets):
        (mse(alone[1](alone[0](a)), b) / 4).backward()
    same(modules.values(), [[p.grad for p in one.parameters()] for one in alone])


@pytest.mark.parametrize(
    "words, error, call",
    [
        ("step() needs the target", ValueError, lambda x, y: plain().step(x)),
        (
            "needs a loss_fn",
            ValueError,
            lambda x, y: ashlar_pp.torch.pipeline(
                {0: linear()}, FUSED, runtime="ashlar"
            ).step(x),
        ),
        ("step() needs the inputs", ValueError, lambda x, y: plain().step(target=y)),
        (
            "has no 4 equal micro-batches",
            ValueError,
            lambda x, y: plain().step(x[:7], target=y),
        ),
        (
            "give target as target_mbs",
            ValueError,
            lambda x, y: plain().step(arg_mbs=[(x,)] * 4, target=y),
        ),
        (
            "give positional inputs as arg_mbs",
            ValueError,
            lambda x, y: plain().step(x, target_mbs=[y] * 4),
        ),
        (
            "keyword inputs scale as kwarg_mbs",
            ValueError,
            lambda x, y: plain().step(arg_mbs=[(x,)] * 4, scale=x),
        ),
        (
            "arg_mbs has 3 entries, and the schedule 4",
            ValueError,
            lambda x, y: plain().step(arg_mbs=[(x,)] * 3),
        ),
        (
            "arg_mbs[0] must be a tuple, not Tensor",
            TypeError,
            lambda x, y: plain().step(arg_mbs=[x] * 4),
        ),
        (
            "kwarg_mbs must be a list",
            TypeError,
            lambda x, y: plain().step(kwarg_mbs={"x": x}),
        ),
        (
            "losses must be a list",
            TypeError,
            lambda x, y: plain().step(x, target=y, losses=()),
        ),
        (
            "finalize_gradients=False is for",
            ValueError,
            lambda x, y: plain().step(x, target=y, finalize_gradients=False),
        ),
        (
            "stage 0 gives a dict",
            TypeError,
            lambda x, y: ashlar_pp.torch.pipeline(
                {0: Wrapped(), 1: linear()}, V, mse, runtime="ashlar"
            ).step(x, target=y),
        ),
        (
            "must give one number",
            TypeError,
            lambda x, y: ashlar_pp.torch.pipeline(
                {0: linear()}, FUSED, lambda o, t: o - t, runtime="ashlar"
            ).step(x, target=y),
        ),
        (
            "micro-batch 1 is (3, 4) of torch.float64, and the first that this "
            "pipeline ran (2, 4)",
            ValueError,
            lambda x, y: plain().step(
                arg_mbs=[(x[:2],), (x[:3],), (x[:2],), (x[:2],)],
                target_mbs=[y[:2], y[:3], y[:2], y[:2]],
            ),
        ),
    ],
)
def test_what_cannot_be_taken_is_refused_by_name(words, error, call):
    with pytest.raises(error) as caught:
        call(*batch())
    assert words in str(caught.value)


class Wrapped(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = linear()

    def forward(self, x):
        return {"x": self.inner(x)}


@BOTH
def test_training_needs_gradients(runtime):
    x, y = batch()
    with torch.no_grad(), pytest.raises(RuntimeError, match="gradients are disabled"):
        plain(runtime).step(x, target=y)


def test_a_batch_of_another_size_is_told():
    x, y = batch()
    pipe = plain()
    pipe.step(x, target=y)
    with pytest.raises(ValueError, match="micro-batch 0 is .1, 4."):
        pipe.step(x[:4], target=y[:4])


@pytest.mark.parametrize("name", ["1f1b", "zbv", "looped-bfs", "chimera"])
def test_receives_are_posted_two_passes_before_they_are_needed(name):
    schedule = ashlar_pp.catalog.find(name)(4, 8)
    program = schedule | ashlar_pp.lower(lanes="one_a_peer")
    for device in range(4):
        stream = [action_of(i, program.stages - 1) for i in program.stream(device)]
        early = with_early_receives(stream)
        others = [[i for i in of if i.code != "receive"] for of in (stream, early)]
        assert others[0] == others[1]
        place = {i: at for at, i in enumerate(early)}
        taken = {i.needs: place[i] for i in early}
        by_peer = collections.defaultdict(list)
        for i in stream:
            if i.code == "receive":
                by_peer[i.peer, key_of(i)[0]].append(i)
        for of in by_peer.values():
            assert all(place[i] < taken[key_of(i)] for i in of)
            assert all(place[b] < taken[key_of(a)] for a, b in zip(of, of[2:]))

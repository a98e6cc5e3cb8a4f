"""Functions that the processes of test_trained.py run: one each, with a rank in a
group.
"""

import copy
import functools
import sys
import warnings

import front_ranks
import models
import ranks
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

import ashlar_pp.torch

WIDTH, MICRO_BATCHES, STEPS = 8, 4, 3


class Block(nn.Module):
    """Has a weight that nothing uses, and may run in a checkpoint."""

    def __init__(self, reentrant):
        super().__init__()
        self.inner, self.reentrant = nn.Linear(WIDTH, WIDTH), reentrant
        self.unused = nn.Parameter(torch.ones(2))

    def forward(self, x):
        if self.reentrant is None:
            return x + self.inner(x).tanh()
        return checkpoint(
            lambda x: x + self.inner(x).tanh(), x, use_reentrant=self.reentrant
        )


class Model(nn.Module):
    """detached_at: the layer before which the model itself cuts its graph."""

    def __init__(self, detached_at=None, reentrant=None, frozen=False):
        super().__init__()
        self.first = nn.Linear(WIDTH, WIDTH).requires_grad_(not frozen)
        self.layers = nn.ModuleList(Block(reentrant) for _ in range(4))
        self.last, self.never = nn.Linear(WIDTH, WIDTH), nn.Linear(2, 2)
        self.detached_at = detached_at

    def forward(self, x):
        x = self.first(x)
        for k, layer in enumerate(self.layers):
            x = layer(x.detach() if k == self.detached_at else x)
        return self.last(x)


class Ended(Block):
    """A block that runs in a checkpoint, and a layer that does not."""

    def __init__(self):
        super().__init__(reentrant=True)
        self.last = nn.Linear(WIDTH, WIDTH)

    def forward(self, x):
        return self.last(super().forward(x))


class Behind(nn.Module):
    """A frozen layer and one behind it: there is one place to cut."""

    def __init__(self):
        super().__init__()
        self.first = nn.Linear(WIDTH, WIDTH).requires_grad_(False)
        self.rest = Ended()

    def forward(self, x):
        return self.rest(self.first(x))


def batch(micro_batches, seed):
    torch.manual_seed(seed)
    return torch.randn(2, 3 * micro_batches, WIDTH, dtype=torch.double).unbind()


def steps_of(model, step):
    """Steps with AdamW, which shrinks each weight that has a gradient, be it zero."""
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.05, weight_decay=0.1)
    for k in range(STEPS):
        optimizer.zero_grad()
        step(k)
        optimizer.step()


def beside(model, example, step, part_of, **options):
    """Trains a copy of the model whole, and the model in a pipeline. part_of: the
    loss of a micro-batch of a step, from the whole model.
    """
    whole = copy.deepcopy(model)

    def unpiped(k):
        for m in range(MICRO_BATCHES):
            (part_of(whole, k, m) / MICRO_BATCHES).backward()

    steps_of(whole, unpiped)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        pipe = ashlar_pp.torch.Pipeline(
            model, example, micro_batches=MICRO_BATCHES, repeats=1, trials=0, **options
        )
        steps_of(pipe, lambda k: step(pipe, k))
    state = whole.state_dict()
    gradients = {name: p.grad for name, p in whole.named_parameters()}
    return {
        "off": max(
            float((mine - state[name]).abs().max())
            for name, mine in pipe.state_dict().items()
        ),
        "other": [
            name
            for name, p in pipe.named_parameters()
            if (p.grad is None) != (gradients[name] is None)
        ],
        "told": [str(one.message) for one in told if "gradient" in str(one.message)],
        "costs": pipe.plan.dealt.costs.per_stage,
    }


def own(made, **options):
    """`beside` for a model of this file."""

    def part_of(whole, k, m):
        x, y = (one.chunk(MICRO_BATCHES)[m] for one in batch(MICRO_BATCHES, k))
        return nn.functional.mse_loss(whole(x), y)

    def step(pipe, k):
        x, y = batch(MICRO_BATCHES, k)
        pipe.step(x, target=y)

    x, y = batch(1, 0)
    return beside(
        made.double(), x, step, part_of, target=y, loss_fn=nn.functional.mse_loss,
        **options,
    )  # fmt: skip


def gradients(_):
    """Models whose own code leaves parameters without gradients."""
    torch.manual_seed(1)
    found = {
        "cut by the model": own(Model(detached_at=2), schedule="1f1b"),
        "cut by the model, searched": own(Model(detached_at=2)),
        "checkpoints": own(Model(reentrant=False, frozen=True), schedule="1f1b"),
    }
    found["reentrant"] = front_ranks.words_of(lambda: own(Behind(), schedule="1f1b"))
    return found


COUNTS = [4, 6, 1, 4, 3, 6]


def counts(_):
    """Steps with other numbers of micro-batches than the pipeline was made for."""
    found = {}
    x, y = batch(1, 0)
    options = {"target": y, "loss_fn": nn.functional.mse_loss, "trials": 0}
    for schedule in ("1f1b", "v-half", None):
        torch.manual_seed(1)
        whole = Model().double()
        pipe = ashlar_pp.torch.Pipeline(
            copy.deepcopy(whole), x, micro_batches=4, schedule=schedule, **options
        )
        ours, theirs = (
            torch.optim.SGD(one.parameters(), lr=0.1) for one in (pipe, whole)
        )
        off = []
        for k, m in enumerate(COUNTS):
            a, b = batch(m, k)
            ours.zero_grad()
            loss = pipe.step(a, target=b, micro_batches=m)
            ours.step()
            theirs.zero_grad()
            parts = [
                nn.functional.mse_loss(whole(one), other)
                for one, other in zip(a.chunk(m), b.chunk(m))
            ]
            (sum(parts) / m).backward()
            theirs.step()
            off.append(abs(float(loss - sum(parts) / m)))
        state = whole.state_dict()
        found[str(schedule)] = {
            "off": max(
                *off,
                *(
                    float((p - state[name]).abs().max())
                    for name, p in pipe.state_dict().items()
                ),
            ),
            "plans": sorted(
                one.plan.schedule.micro_batches for one in pipe._by_mode.values()
            ),
            "none": front_ranks.words_of(functools.partial(pipe.step, x, target=y)),
        }
    given = ashlar_pp.catalog.one_f_one_b(2, 4)
    pipe = ashlar_pp.torch.Pipeline(
        Model().double(), x, micro_batches=4, schedule=given, **options
    )
    a, b = batch(6, 0)
    found["given"] = front_ranks.words_of(
        lambda: pipe.step(a, target=b, micro_batches=6)
    )
    return found


def adapters(_):
    """LoRA of `peft` on a model of `transformers`, with its default cache of keys."""
    import peft

    make, tokens_of = models.llama(use_cache=True)

    def adapted(layers):
        torch.manual_seed(1)
        config = peft.LoraConfig(
            r=2,
            target_modules=["q_proj", "v_proj"],
            init_lora_weights=False,
            layers_to_transform=layers,
        )
        return peft.get_peft_model(make(), config).double()

    def part_of(whole, k, m):
        parts = front_ranks.parts(tokens_of(MICRO_BATCHES, 10 + k), MICRO_BATCHES)
        return whole(**parts[m]).loss

    def step(pipe, k):
        pipe.step(tokens_of(MICRO_BATCHES, 10 + k))

    return {
        f"{name}, {schedule or 'searched'}": beside(
            adapted(layers), tokens_of(1, 3), step, part_of, schedule=schedule
        )
        for name, layers in (("all", None), ("the last", [4]))
        for schedule in ("1f1b", None)
    }


if __name__ == "__main__":
    ranks.main(globals(), *sys.argv[1:])

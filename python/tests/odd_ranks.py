"""Functions that the processes of test_odd_models.py run: one each, with a rank in a
group.
"""

import random
import sys

import front_ranks
import ranks
import torch
import torch.distributed as dist
import torch.utils.checkpoint
from torch import nn
from torch.nn.utils import parametrizations

import ashlar_pp
import ashlar_pp.torch

WIDTH = 8


class Stack(nn.Module):
    def __init__(self, layers=None):
        super().__init__()
        self.layers = nn.ModuleList(
            layers or [nn.Linear(WIDTH, WIDTH) for _ in range(6)]
        )

    def forward(self, x):
        for layer in self.layers:
            x = torch.tanh(layer(x))
        return x


def in_place_layers():
    """Layers as in image models: activations work in place, and norms keep running
    statistics.
    """
    blocks = [
        nn.Sequential(
            nn.Linear(WIDTH, WIDTH), nn.BatchNorm1d(WIDTH), nn.ReLU(inplace=True)
        )
        for _ in range(4)
    ]
    return nn.Sequential(*blocks, nn.Linear(WIDTH, WIDTH))


class InPlaceBetween(Stack):
    def forward(self, x):
        for layer in self.layers:
            y = layer(x)
            y += x
            x = y
        return x


class Named(nn.Module):
    """A model with layers in a dictionary."""

    def __init__(self):
        super().__init__()
        self.begin = nn.Linear(WIDTH, WIDTH)
        self.layers = nn.ModuleDict(
            {f"layer{k}": nn.Linear(WIDTH, WIDTH) for k in range(6)}
        )

    def forward(self, x):
        x = self.begin(x)
        for layer in self.layers.values():
            x = x + torch.tanh(layer(x))
        return x


class Checkpointed(Stack):
    """Checkpoints blocks of several layers in its own forward."""

    reentrant = False

    def __init__(self):
        super().__init__(
            [nn.Sequential(nn.Linear(WIDTH, WIDTH), nn.Tanh()) for _ in range(6)]
        )

    def forward(self, x):
        for block in self.layers:
            x = x + torch.utils.checkpoint.checkpoint(
                block, x, use_reentrant=self.reentrant
            )
        return x


class Reentrant(Checkpointed):
    reentrant = True


class AcrossStages(Stack):
    """Computes with outputs of layers in a checkpoint: later stages would need these
    layers again.
    """

    def forward(self, x):
        for k in range(0, 6, 2):
            a, b = self.layers[k], self.layers[k + 1]
            x = torch.utils.checkpoint.checkpoint(
                lambda y, a=a, b=b: torch.sin(a(y)) * torch.cos(b(y)),
                x,
                use_reentrant=False,
            )
        return x


class Parametrized(nn.Module):
    """A model with parametrized weights, and no list of layers."""

    def __init__(self):
        super().__init__()
        self.a = parametrizations.weight_norm(nn.Linear(WIDTH, WIDTH))
        self.b = nn.Linear(WIDTH, WIDTH)
        self.c = parametrizations.orthogonal(nn.Linear(WIDTH, WIDTH))

    def forward(self, x):
        return self.c(torch.tanh(self.b(torch.tanh(self.a(x)))))


class Masked(nn.Module):
    """A model with PyTorch's encoder, which packs rows of several lengths in an
    evaluation.
    """

    def __init__(self):
        super().__init__()
        layer = nn.TransformerEncoderLayer(WIDTH, 2, 16, dropout=0.0, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, 4)

    def forward(self, x):
        hidden = torch.zeros(len(x), 4, dtype=torch.bool)
        hidden[:, 3] = True
        return self.encoder(
            x.unsqueeze(1).expand(-1, 4, -1), src_key_padding_mask=hidden
        )[:, 0]


MODELS = {
    "in-place layers": in_place_layers,
    "in place between layers": InPlaceBetween,
    "dictionary": Named,
    "checkpoints": Checkpointed,
    "parametrized": Parametrized,
    "masked encoder": Masked,
}


def gradients_of(model, x, y, micro_batches=4):
    """Gradients by name, after one step of the whole model."""
    for one, target in zip(x.chunk(micro_batches), y.chunk(micro_batches)):
        (front_ranks.mean_squares(model(one), target) / micro_batches).backward()
    return {name: p.grad for name, p in model.named_parameters()}


def pipeline_of(make, **options):
    example, target = front_ranks.numbers(1, 3)
    torch.manual_seed(1)
    given = {
        "target": target,
        "loss_fn": front_ranks.mean_squares,
        "micro_batches": 4,
        "repeats": 1,
        "trials": 0,
        "budget": 50,
    }
    return ashlar_pp.torch.Pipeline(make().double(), example, **{**given, **options})


def train(_):
    """The largest difference of gradients and states to the whole model's, under 1F1B
    and ZB-H1.
    """
    x, y = front_ranks.numbers(4, 20)
    found = {}
    for name, make in MODELS.items():
        torch.manual_seed(1)
        whole = make().double()
        expected = gradients_of(whole, x, y)
        for schedule in ("1f1b", "zb-h1"):
            pipe = pipeline_of(make, schedule=schedule)
            pipe.step(x, target=y)
            state = whole.state_dict()
            off = [
                float((value - state[key]).abs().max())
                for key, value in pipe.state_dict().items()
            ]
            found[f"{name}, {schedule}"] = max(
                front_ranks.furthest(pipe, expected), *off
            )
    return found


def clips(norm_types):
    """Clips by the norm of all stages, in which a shared parameter counts once."""

    class Tied(Stack):
        def __init__(self):
            super().__init__()
            self.layers[5].weight = self.layers[0].weight

    x, y = front_ranks.numbers(4, 20)
    found = {}
    for kind in norm_types:
        torch.manual_seed(1)
        whole = Tied().double()
        expected = gradients_of(whole, x, y)
        norm = torch.nn.utils.clip_grad_norm_(whole.parameters(), 1e-3, float(kind))
        expected["layers.5.weight"] = expected["layers.0.weight"]
        pipe = pipeline_of(Tied)
        pipe.step(x, target=y)
        clipped = pipe.clip_grad_norm_(1e-3, float(kind))
        found[kind] = [
            float((clipped - norm).abs()),
            front_ranks.furthest(pipe, expected),
            float(norm),
        ]
    return found


def hooks(_):
    """Counts calls of hooks of parameters in a step: one for each parameter here and
    each micro-batch.
    """
    x, y = front_ranks.numbers(4, 20)
    called = []

    def make():
        model = Stack()
        for p in model.parameters():
            p.register_post_accumulate_grad_hook(
                lambda p: called.append(p.grad is not None)
            )
        return model

    found = []
    for schedule in ("1f1b", "zb-h1"):
        pipe = pipeline_of(make, schedule=schedule)
        before = len(called)
        pipe.step(x, target=y)
        found.append(
            [before, called.count(True) - before, 4 * len(list(pipe.parameters()))]
        )
        called.clear()
    return found


def words_of_whole(model):
    """The error when one rank is asked for the state of the whole model."""
    return front_ranks.words_of(model.state_dict)


def through_the_model(_):
    """Uses the model as a trainer does: its parameters, state and attributes are those
    of this rank.
    """

    def make():
        return nn.Sequential(
            *(
                layer
                for _ in range(4)
                for layer in (nn.Linear(WIDTH, WIDTH), nn.Dropout(0.5))
            )
        )

    x, y = front_ranks.numbers(4, 20)
    torch.manual_seed(1)
    whole, model = make().double(), make().double()
    model.load_state_dict(whole.state_dict())
    for one in whole.modules():
        one.p = 0.0
    gradients_of(whole, x, y)
    torch.optim.AdamW(whole.parameters()).step()
    pipe = pipeline_of(lambda: model)
    for one in model.modules():
        if isinstance(one, nn.Dropout):
            one.p = 0.3
    for layer in model:
        layer.p = 0.0
    optimizer = torch.optim.AdamW(model.parameters())
    pipe.step(x, target=y)
    optimizer.step()
    model.zero_grad()
    expected = whole.state_dict()
    gathered = pipe.whole_state_dict()
    return {
        "off": max(
            float((value - expected[name]).abs().max())
            for name, value in pipe.state_dict().items()
        ),
        "mine": sorted(pipe.state_dict())
        == sorted(name for name, _ in model.named_parameters()),
        "whole": words_of_whole(model),
        "gathered": all(
            torch.equal(gathered[name], value) for name, value in expected.items()
        )
        if dist.get_rank() == 0
        else not gathered,
        "zero": all(p.grad is None for p in pipe.parameters()),
        "names": sorted(pipe.state_dict()),
        "all_names": sorted(expected),
    }


class Target:
    def __init__(self, numbers):
        self.numbers = numbers


class Box:
    def __init__(self, inside):
        self.inside = inside


class Boxes(nn.Linear):
    def forward(self, given):
        return Box(super().forward(given.inside if isinstance(given, Box) else given))


class Unboxes(nn.Linear):
    def forward(self, given):
        return super().forward(given.inside)


class Counts(Stack):
    def __init__(self):
        super().__init__()
        self.register_buffer("count", torch.zeros(()))

    def forward(self, x):
        self.count += 1
        return super().forward(x)


class Scaled(nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = nn.Parameter(torch.ones(()))

    def forward(self, output, target):
        return front_ranks.mean_squares(self.scale * output, target)


def refused(_):
    x, y = front_ranks.numbers(4, 20)
    short_x, short_y = front_ranks.numbers(1, 20)
    plain = pipeline_of(Stack)
    rank = dist.get_rank()

    def of_object(target):
        def loss_of(output, given):
            return front_ranks.mean_squares(output, given.numbers)

        pipeline_of(Stack, target=Target(short_y), loss_fn=loss_of).step(
            x, target=Target(target)
        )

    other_x, other_y = front_ranks.numbers(4, 20 + rank)
    return {
        "boxes": front_ranks.words_of(
            lambda: pipeline_of(
                lambda: nn.Sequential(Boxes(8, 8), Boxes(8, 8), Unboxes(8, 8))
            )
        ),
        "buffer": front_ranks.words_of(lambda: pipeline_of(Counts)),
        "generator": front_ranks.words_of(lambda: pipeline_of(ByChance)),
        "reentrant": front_ranks.words_of(lambda: pipeline_of(Reentrant)),
        "loss": front_ranks.words_of(lambda: pipeline_of(Stack, loss_fn=Scaled())),
        "no number": front_ranks.words_of(
            lambda: pipeline_of(
                Stack, loss_fn=lambda output, _: output.sum() * float("nan")
            )
        ),
        "one micro-batch": front_ranks.words_of(
            lambda: plain.step(short_x, target=short_y)
        ),
        "object": front_ranks.words_of(lambda: of_object(y)),
        "other example": front_ranks.words_of(
            lambda: pipeline_of(Stack, target=short_y + rank)
        ),
        "other batch": front_ranks.words_of(
            lambda: plain.step(other_x, target=other_y)
        ),
        "one target": front_ranks.words_of(lambda: plain.step(x, target=short_y)),
    }


DICE = random.Random(7)


def rolled(x):
    return x * (1 + DICE.random())


class ByChance(Stack):
    """Draws random numbers in a function that the forward does not name."""

    def __init__(self):
        super().__init__()
        self.steps = [rolled]

    def forward(self, x):
        for step in self.steps:
            x = step(super().forward(x))
        return x


class Numbers(nn.Module):
    """Hands on a Python number."""

    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(WIDTH, WIDTH)

    def forward(self, x, scale):
        y = torch.tanh(self.inner(x)) * scale
        return y, 1 + y.abs().mean().item()


class ByNumbers(Stack):
    def __init__(self):
        super().__init__([Numbers() for _ in range(4)])

    def forward(self, x):
        scale = 1.0
        for layer in self.layers:
            x, scale = layer(x, scale)
        return x


def refused_in_a_step(_):
    """Errors of steps that are refused, on one rank, so that no other waits."""
    x, y = front_ranks.numbers(4, 20)
    return {
        "numbers": front_ranks.words_of(
            lambda: pipeline_of(ByNumbers).step(x, target=y)
        ),
        "across": front_ranks.words_of(
            lambda: pipeline_of(AcrossStages, schedule="v-zb").step(x, target=y)
        ),
    }


class FailsBackward(nn.Linear):
    fails = False

    def forward(self, x):
        y = super().forward(x)
        if y.requires_grad and self.fails:
            y.register_hook(fail)
        return y


def fail(_):
    raise ValueError("no gradient")


def fails_in_a_new_mode(_):
    """What batch norms count is as before, though they count in no mode that was traced
    before this step.
    """
    blocks = [
        nn.Sequential(nn.Linear(WIDTH, WIDTH), nn.BatchNorm1d(WIDTH)) for _ in range(4)
    ]
    pipe = pipeline_of(
        lambda: nn.Sequential(FailsBackward(WIDTH, WIDTH), *blocks).eval()
    )
    before = {name: t.clone() for name, t in pipe.module.named_buffers()}
    pipe.module.train()
    FailsBackward.fails = True
    x, y = front_ranks.numbers(4, 20)
    words = front_ranks.words_of(lambda: pipe.step(x, target=y))
    return {
        "words": words,
        "kept": all(
            torch.equal(t, before[name]) for name, t in pipe.module.named_buffers()
        ),
    }


if __name__ == "__main__":
    ranks.main(globals(), *sys.argv[1:])

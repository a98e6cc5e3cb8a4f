"""Random models with the habits of real ones: modes, flags, dropout, ties, buffers,
frozen parts, checkpoints, hooks, and random numbers of PyTorch, Python and NumPy. A
seed determines each.
"""

import random

import numpy as np
import torch
import torch.utils.checkpoint
from torch import nn
from torch.nn import functional

WIDTH, ROWS, CLASSES = 8, 2, 3
COUNT = [0]
OWN = np.random.default_rng(7)


class Plain(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(WIDTH, WIDTH)

    def forward(self, x):
        return torch.tanh(self.inner(x))


class Dropped(Plain):
    def forward(self, x):
        return functional.dropout(super().forward(x), 0.4, self.training)


class Normed(Plain):
    """Keeps running statistics in training."""

    def __init__(self):
        super().__init__()
        self.norm = nn.BatchNorm1d(WIDTH)

    def forward(self, x):
        return self.norm(super().forward(x))


class Annealed(Plain):
    """Rebinds a buffer, and counts with a Python number."""

    def __init__(self):
        super().__init__()
        self.register_buffer("steps", torch.zeros(()))
        self.calls = 0

    def forward(self, x):
        if self.training:
            self.steps = self.steps + 1
            self.calls += 1
        return super().forward(x) / torch.exp(-0.05 * self.steps) + 0.01 * self.calls


class Checkpointed(Dropped):
    def forward(self, x):
        return torch.utils.checkpoint.checkpoint(
            super().forward, x, use_reentrant=False
        )


class Mixing(Plain):
    """Draws random numbers of Python and NumPy inside a layer."""

    def forward(self, x):
        if not self.training:
            return super().forward(x)
        return super().forward(x) * (1 + 0.1 * random.random()) + 0.1 * np.random.rand()


class Hooked(Plain):
    """Clamps a gradient with a hook."""

    def forward(self, x):
        y = super().forward(x)
        if y.requires_grad:
            y.register_hook(lambda g: g.clamp(-0.01, 0.01))
        return y


class Two(Plain):
    """Returns two tensors, of which one is its input."""

    def forward(self, x):
        return super().forward(x), x


LAYERS = [Plain, Dropped, Normed, Annealed, Checkpointed, Mixing, Hooked, Two]


def _residual(model, x, kept, y):
    return x + kept[-1]


def _dropout(model, x, kept, y):
    return functional.dropout(x, 0.3, model.training)


def _noise(model, x, kept, y):
    return x + 0.1 * torch.randn_like(x) if model.training else x


def _of_python(model, x, kept, y):
    return x * (1 + 0.1 * random.random()) if model.training else x


def _of_numpy(model, x, kept, y):
    return x + 0.1 * float(np.random.rand()) if model.training else x


def _skip(model, x, kept, y):
    return x + 0.5 * kept[0]


def _only_in_training(model, x, kept, y):
    return x + 0.3 * kept[0] if model.training else x


def _by_flag(model, x, kept, y):
    return x + model.flag * kept[0] if model.flag > 0 else x


def _by_labels(model, x, kept, y):
    return x + kept[0] if (y == 0).all() else x


def _in_place(model, x, kept, y):
    x = x * 1.0
    x[:, 1:] += 0.1 * kept[-1][:, 1:]
    return x


def _gathered(model, x, kept, y):
    """Writes outputs of layers into one tensor."""
    out = torch.zeros(len(x), 2, WIDTH, dtype=x.dtype)
    out[:, 0], out[:, 1] = x, kept[0]
    return out.mean(1)


def _hook(model, x, kept, y):
    if x.requires_grad:
        x.register_hook(lambda g: g.clamp(-0.01, 0.01))
    return x


def _count(model, x, kept, y):
    COUNT[0] += 1
    return x * (1 + 0.01 * COUNT[0])


def _own_generator(model, x, kept, y):
    return x * (1 + 0.1 * OWN.random())


def _attribute(model, x, kept, y):
    model.calls += 1
    return x * (1 + 0.01 * model.calls)


BETWEEN = [
    _residual,
    _dropout,
    _noise,
    _of_python,
    _of_numpy,
    _skip,
    _only_in_training,
    _by_flag,
    _in_place,
    _gathered,
]
ODD = [_by_labels, _hook, _count, _own_generator, _attribute]
"""Habits that may be refused."""


class Model(nn.Module):
    def __init__(self, seed):
        super().__init__()
        chosen = random.Random(seed)
        self.flag, self.calls = chosen.choice([0.0, 0.2]), 0
        self.first = nn.Linear(WIDTH, WIDTH)
        self.layers = nn.ModuleList(
            chosen.choice(LAYERS)() for _ in range(chosen.randint(5, 8))
        )
        self.drop = nn.Dropout(0.2)
        self.last = nn.Linear(WIDTH, WIDTH)
        self.head = nn.Linear(WIDTH, CLASSES)
        if chosen.random() < 0.4:
            self.last.weight = self.first.weight
        for one in self.layers:
            if chosen.random() < 0.15:
                one.requires_grad_(False)
        odd = chosen.random() < 0.25
        self.between = [
            [
                chosen.choice(ODD if odd and chosen.random() < 0.3 else BETWEEN)
                for _ in range(chosen.randint(0, 2))
            ]
            for _ in self.layers
        ]

    def forward(self, x, y, aux=False):
        x = self.drop(torch.tanh(self.first(x)))
        kept = [x]
        for layer, steps in zip(self.layers, self.between):
            given = layer(x)
            x = given if isinstance(given, torch.Tensor) else given[0] + 0.5 * given[1]
            for step in steps:
                x = step(self, x, kept, y)
            kept.append(x)
        loss = functional.cross_entropy(self.head(torch.tanh(self.last(x))), y)
        return loss + 0.1 * kept[1].pow(2).mean() if aux else loss


def made(seed):
    torch.manual_seed(seed)
    COUNT[0] = 0
    return Model(seed).double()


def batch(seed, rows):
    generator = torch.Generator().manual_seed(seed)
    x = torch.randn(rows, WIDTH, generator=generator, dtype=torch.double)
    return x, torch.randint(CLASSES, (rows,), generator=generator)


def events(seed):
    """Settings before each step: the mode, the flag, whether frozen layers train from
    then on, and an input.
    """
    chosen = random.Random(-seed - 1)
    found = []
    for _ in range(3):
        found.append(
            {
                "train": chosen.random() < 0.7,
                "flag": chosen.choice([0.0, 0.2, 0.3]),
                "thaw": chosen.random() < 0.2,
                "aux": chosen.random() < 0.3,
            }
        )
    return found


def apply(model, event):
    """Applies an event to a model, in a pipeline or not."""
    model.train(event["train"])
    model.flag = event["flag"]
    if event["thaw"]:
        for p in model.parameters():
            p.requires_grad_(True)

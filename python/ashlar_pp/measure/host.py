"""The host's time to launch parts of layers: so small that the device has no work."""

import types
from collections.abc import Callable, Iterator

import torch
import torch.distributed as dist
from torch import nn
from torch.nn import functional

from .memory import turned
from .samples import Sample
from .team import Team

LAYERS = 4
HIDDEN, TOKENS = 64, 16


class Mixer(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.norm = nn.RMSNorm(HIDDEN)
        self.wide = nn.Linear(HIDDEN, 3 * HIDDEN, bias=False)
        self.out = nn.Linear(HIDDEN, HIDDEN, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        q, k, v = self.wide(self.norm(x)).view(1, 1, TOKENS, -1).chunk(3, dim=-1)
        angles = (v.detach(), v.detach())
        attended = functional.scaled_dot_product_attention(
            turned(q, angles), turned(k, angles), v, is_causal=True
        )
        out: torch.Tensor = self.out(attended.view(TOKENS, HIDDEN))
        return x + out


class Feed(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.norm = nn.RMSNorm(HIDDEN)
        self.gate = nn.Linear(HIDDEN, HIDDEN, bias=False)
        self.up = nn.Linear(HIDDEN, HIDDEN, bias=False)
        self.down = nn.Linear(HIDDEN, HIDDEN, bias=False)

    def within(self, x: torch.Tensor) -> torch.Tensor:
        down: torch.Tensor = self.down(functional.silu(self.gate(x)) * self.up(x))
        return down

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + self.within(self.norm(x))


class Experts(nn.Module):
    """A loop over experts, each with its own tokens."""

    def __init__(self, count: int) -> None:
        super().__init__()
        self.norm = nn.RMSNorm(HIDDEN)
        self.router = nn.Linear(HIDDEN, count, bias=False)
        self.experts: list[Feed] = [Feed() for _ in range(count)]
        self.held = nn.ModuleList(self.experts)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        normed = self.norm(x)
        shares = self.router(normed).softmax(dim=-1)
        # Equal shares of tokens, so that no count has to come to the host.
        order = shares[:, 0].argsort()
        parts = normed[order].chunk(len(self.experts))
        made = torch.cat([e.within(part) for e, part in zip(self.experts, parts)])
        back = torch.empty_like(made).index_copy(0, order, made)
        out: torch.Tensor = x + back * shares.amax(dim=-1, keepdim=True)
        return out


def both_passes(module: nn.Module, team: Team) -> Callable[[], object]:
    x = torch.randn(TOKENS, HIDDEN, device=team.device, requires_grad=True)
    module.to(team.device)

    def call() -> object:
        return module(x).sum().backward()

    return call


def host_samples(team: Team) -> Iterator[Sample]:
    layers = nn.Sequential(*(each for _ in range(LAYERS) for each in (Mixer(), Feed())))
    passes = 2.0 * 2 * LAYERS
    yield Sample(
        "host",
        f"{LAYERS} layers",
        {"host": passes},
        both_passes(layers, team),
        is_launch=True,
    )
    for count in (2, 8):
        yield Sample(
            "host",
            f"{count} experts",
            {"host": 2, "host_expert": 2, "host_each_expert": 2.0 * count},
            both_passes(Experts(count), team),
            is_launch=True,
        )
    layer = nn.ModuleList(each for _ in range(LAYERS) for each in (Mixer(), Feed()))
    layer.to(team.device)
    for each in layer.parameters():
        each.grad = torch.zeros_like(each)
    optimizer = torch.optim.AdamW(layer.parameters(), fused=True)
    yield Sample(
        "host_update",
        f"AdamW of {LAYERS} layers",
        {"host_update": float(LAYERS)},
        optimizer.step,
        is_launch=True,
    )


def graph_sample(team: Team) -> Sample | None:
    """The layers again, launched as CUDA graphs; none without a GPU."""
    if not team.has_gpu:
        return None
    layers = nn.Sequential(*(each for _ in range(LAYERS) for each in (Mixer(), Feed())))
    layers.to(team.device)
    x = torch.randn(TOKENS, HIDDEN, device=team.device, requires_grad=True)
    try:
        graphed = torch.cuda.make_graphed_callables(layers, (x,))
    except RuntimeError:
        return None

    def call() -> object:
        return graphed(x).sum().backward()  # type: ignore[union-attr]

    terms = {"host_graphs": 2.0 * 2 * LAYERS}
    return Sample(
        "host_graphs", f"{LAYERS} layers as graphs", terms, call, is_launch=True
    )


def exchange_launch_sample(team: Team) -> Sample | None:
    """Both exchanges of a part with tensor ranks; none for one process."""
    if team.size == 1:
        return None
    made = torch.zeros(team.size, device=team.device)
    own = types.SimpleNamespace(works=[])

    def call() -> object:
        # All of the last call are through: `launched` waits, and gloo's are tiny.
        for work in own.works:
            work.wait()
        own.works = [dist.all_reduce(made, async_op=True) for _ in range(2)]
        return None

    return Sample(
        "host_tensor", "two exchanges", {"host_tensor": 1.0}, call, is_launch=True
    )

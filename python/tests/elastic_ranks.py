"""Functions that the processes of test_elastic.py run: one each, with a rank in a
group.
"""

import copy
import sys

import ranks
import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
import transformers
from front_ranks import words_of
from torch import nn

import ashlar_pp.torch

MICRO_BATCHES, BEFORE, AFTER = 6, 3, 3
"""Micro-batches of a step, steps before a checkpoint, and steps after it."""


class Model(nn.Module):
    """Has random numbers, weights with two names, a frozen layer, and counts."""

    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(11, 8)
        self.layers = nn.ModuleList(
            nn.Sequential(
                nn.Linear(8, 8), nn.Tanh(), nn.Dropout(0.2), nn.BatchNorm1d(8)
            )
            for _ in range(7)
        )
        self.layers[2].requires_grad_(False)
        self.head = nn.Linear(8, 11, bias=False)
        self.head.weight = self.embed.weight

    def forward(self, tokens):
        x = self.embed(tokens)
        for layer in self.layers:
            x = layer(x)
        return self.head(x)


def batch(step, micro_batches=MICRO_BATCHES):
    torch.manual_seed(step)
    return torch.randint(11, (2, 5 * micro_batches)).unbind()


def piped(seed, schedule):
    """A pipeline with AdamW and a schedule of learning rates. seed: of weights."""
    torch.manual_seed(seed)
    x, y = batch(0, 1)
    pipe = ashlar_pp.torch.Pipeline(
        Model().double(),
        x,
        target=y,
        loss_fn=nn.functional.cross_entropy,
        micro_batches=MICRO_BATCHES,
        schedule=schedule,
        seed=seed,
        trials=0,
    )
    optimizer = torch.optim.AdamW(pipe.parameters(), lr=0.05, weight_decay=0.1)
    return pipe, optimizer, torch.optim.lr_scheduler.StepLR(optimizer, 2, 0.5)


def trained(pipe, optimizer, rates, steps):
    losses = []
    for step in steps:
        x, y = batch(step)
        optimizer.zero_grad()
        losses.append(pipe.step(x, target=y).item())
        optimizer.step()
        rates.step()
    return losses


def everything(pipe, optimizer, rates):
    return {
        "model": pipe,
        "optimizer": pipe.optimizer_state(optimizer),
        "random": pipe.random_state(),
        "rates": rates,
    }


def saves(folder):
    """Trains, saves, and trains on. Returns later losses, and writes the whole."""
    pipe, optimizer, rates = made = piped(1, "1f1b")
    trained(*made, range(BEFORE))
    dcp.save(everything(*made), checkpoint_id=f"{folder}/half")
    losses = trained(*made, range(BEFORE, BEFORE + AFTER))
    whole = pipe.whole_state_dict()
    if dist.get_rank() == 0:
        torch.save(whole, f"{folder}/whole.pt")
    return losses


def resumes(given):
    """Loads what other ranks have saved, in another model, and trains on. Returns
    losses, the largest difference of states, and how many layers are here.
    """
    folder, schedule = given
    pipe, optimizer, rates = made = piped(9, schedule)
    dcp.load(everything(*made), checkpoint_id=f"{folder}/half")
    losses = trained(*made, range(BEFORE, BEFORE + AFTER))
    expected = torch.load(f"{folder}/whole.pt")
    state = pipe.state_dict()
    return {
        "losses": losses,
        "off": max(float((state[n] - expected[n]).abs().max()) for n in state),
        "layers": sorted({n.split(".")[1] for n in state if n.startswith("layers.")}),
        "names": sorted(state),
        "rate": optimizer.param_groups[0]["lr"],
    }


TRANSFORMERS = {
    "tied": lambda: transformers.GPT2LMHeadModel(
        transformers.GPT2Config(
            vocab_size=96, n_embd=32, n_head=4, n_layer=5, n_positions=32
        )
    ),
    "experts": lambda: transformers.MixtralForCausalLM(
        transformers.MixtralConfig(
            vocab_size=96,
            hidden_size=32,
            intermediate_size=24,
            num_hidden_layers=4,
            num_attention_heads=4,
            num_key_value_heads=2,
            num_local_experts=4,
            use_cache=False,
        )
    ),
}


def pretrained(folder):
    """Trains models of `transformers`, saves them whole, and loads them without a
    pipeline: returns losses of both.
    """
    found = {}
    for name, make in TRANSFORMERS.items():
        torch.manual_seed(1)
        model = make()
        own = copy.deepcopy(model)
        tokens = torch.randint(96, (16, 12))
        example = {"input_ids": tokens[:2], "labels": tokens[:2]}
        pipe = ashlar_pp.torch.Pipeline(model, example, micro_batches=8, trials=0)
        optimizer = torch.optim.SGD(pipe.parameters(), lr=0.1)
        pipe.step({"input_ids": tokens, "labels": tokens})
        optimizer.step()
        found[f"{name}: of a rank"] = words_of(
            lambda model=model: model.save_pretrained(f"{folder}/part")
        )
        pipe.save_pretrained(f"{folder}/{name}")
        pipe.eval()
        piped = pipe.evaluate({"input_ids": tokens, "labels": tokens}).item()
        loaded = type(own).from_pretrained(f"{folder}/{name}").eval()
        with torch.no_grad():
            parts = [loaded(input_ids=x, labels=x).loss for x in tokens.chunk(8)]
            before = own.eval()(input_ids=tokens, labels=tokens).loss.item()
        found[name] = [torch.stack(parts).double().mean().item(), piped, before]
    return found


if __name__ == "__main__":
    ranks.main(globals(), *sys.argv[1:])
